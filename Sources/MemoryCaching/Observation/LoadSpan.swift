//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if TracingSupport
internal import Tracing

/// The span of one load, or of a caller's wait for loads that others have started.
///
/// A load that callers wait for is a child of the span of the caller that started it: its task inherits that caller's
/// task-local values in any case, and a span has one parent. The other callers, whose traces would not show what they
/// waited for, get the span of a wait with a link to the load. A refresh in the background outlives the request that
/// has found the stale value, so that it begins a trace of its own, with a link to that request.
///
/// The tracer is looked up for each load, so that a scope's own tracer is found. Where there is none, nothing is made.
package final class LoadSpan: Sendable {
    private let span: any Span

    private init(span: any Span) { self.span = span }

    /// The span of a load that begins, on the thread of the caller that starts it; nil if nobody traces.
    package static func ofLoad(
        name: @autoclosure () -> String,
        reason: @autoclosure () -> String,
        keyCount: Int,
        isBackground: Bool
    ) -> LoadSpan? {
        guard let tracer else { return nil }
        let caller = InstrumentationContext.current
        let context = isBackground ? .topLevel : caller ?? .topLevel
        let span = tracer.startAnySpan("cache.load", context: context)
        if isBackground, let caller { span.addLink(SpanLink(context: caller, attributes: [:])) }
        span.updateAttributes { attributes in
            attributes["cache.name"] = name()
            attributes["cache.load.reason"] = reason()
            attributes["cache.load.key_count"] = keyCount
        }
        return LoadSpan(span: span)
    }

    /// The span of a wait that begins; nil if nobody traces.
    package static func ofWait(name: @autoclosure () -> String, keyCount: Int) -> LoadSpan? {
        guard let tracer else { return nil }
        let span = tracer.startAnySpan("cache.wait")
        span.updateAttributes { attributes in
            attributes["cache.name"] = name()
            attributes["cache.load.key_count"] = keyCount
        }
        return LoadSpan(span: span)
    }

    /// Does one step of a load, or a change, in a span of its own: a child of the one that the task is in.
    package nonisolated(nonsending) static func step<R>(
        _ operation: String,
        cache name: @autoclosure () -> String,
        _ body: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        guard let span = tracer?.startAnySpan(operation) else { return try await body() }
        span.updateAttributes { $0["cache.name"] = name() }
        do {
            let result = try await InstrumentationContext.$current.withValue(span.context, operation: body)
            span.end()
            return result
        } catch {
            LoadSpan(span: span).end(error)
            throw error
        }
    }

    private static var tracer: (any Tracer)? {
        let tracer = InstrumentationSystem.tracer
        return tracer is NoOpTracer ? nil : tracer
    }

    /// Runs a load inside its span, so that the spans of what it calls are children of this one.
    package nonisolated(nonsending) static func run(_ operation: () async -> Void, in span: LoadSpan?) async {
        guard let span else { return await operation() }
        await InstrumentationContext.$current.withValue(span.span.context, operation: operation)
    }

    /// The load has ended.
    func end<Key>(_ result: CacheLoad<Key>.Result) {
        switch result {
        case .loaded(let count): span.updateAttributes { $0["cache.load.value_count"] = count }
        case .failed(let error): record(error)
        }
        span.end()
    }

    /// The wait for `runs` has ended, with an error or without one.
    ///
    /// Linked only now: a flight can be joined before its load has begun.
    func end(waitFor runs: [LoadRun], _ error: (any Error)?) {
        var linked: Set<ObjectIdentifier> = []
        for run in runs where linked.insert(ObjectIdentifier(run)).inserted {
            if let load = run.span { link(to: load) }
        }
        end(error)
    }

    /// The span shows that it waited for that of `load`.
    package func link(to load: LoadSpan) {
        span.addLink(SpanLink(context: load.span.context, attributes: [:]))
    }

    /// What the span is about has ended, with an error or without one.
    package func end(_ error: (any Error)?) {
        if let error { record(error) }
        span.end()
    }

    private func record(_ error: any Error) {
        span.recordError(error.withoutKey)
        span.updateAttributes { $0["error.type"] = "\(type(of: error))" }
        span.setStatus(SpanStatus(code: .error))
    }
}

extension Error {
    /// The error itself, unless it is one of the cache's own, which name the key: keys may be personal data, and spans
    /// leave the process.
    fileprivate var withoutKey: any Error {
        switch self {
        case let timeout as CacheLoadTimeoutError: CacheLoadTimeoutError(key: "…", timeout: timeout.timeout)
        case is CacheLoadingError: CacheLoadingError.recursiveLoad(key: "…")
        default: self
        }
    }
}
#else
/// Without the trait `TracingSupport` there are no spans, and nothing of this is called.
@usableFromInline
package final class LoadSpan: Sendable {
    private init() {}

    package static func ofLoad(
        name: @autoclosure () -> String,
        reason: @autoclosure () -> String,
        keyCount: Int,
        isBackground: Bool
    ) -> LoadSpan? { nil }

    package static func ofWait(name: @autoclosure () -> String, keyCount: Int) -> LoadSpan? { nil }
    @inlinable
    package nonisolated(nonsending) static func step<R>(
        _ operation: String,
        cache name: @autoclosure () -> String,
        _ body: nonisolated(nonsending) () async throws -> R
    ) async throws -> R { try await body() }

    package nonisolated(nonsending) static func run(_ operation: () async -> Void, in span: LoadSpan?) async {
        await operation()
    }
    func end<Key>(_ result: CacheLoad<Key>.Result) {}
    func end(waitFor runs: [LoadRun], _ error: (any Error)?) {}
    package func link(to load: LoadSpan) {}
    package func end(_ error: (any Error)?) {}
}
#endif
