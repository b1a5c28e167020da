//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if !canImport(Darwin)

public import Foundation
import PurgeableMemory
import Synchronization

/// Mutable data whose bytes can be discarded while nobody accesses them.
///
/// An object is born *accessed*: its counter is 1, and it can be filled and read at once. After
/// ``endContentAccess()`` has brought the counter to 0 the bytes may go at any moment; whoever wants them again calls
/// ``beginContentAccess()`` and looks at the answer:
///
/// ```swift
/// let data = NSPurgeableData(data: download)
/// data.endContentAccess()                      // may be discarded from here on
/// …
/// if data.beginContentAccess() {               // true: the bytes are here, and stay
///     defer { data.endContentAccess() }
///     use(data)
/// } else {
///     download again                           // a discarded object stays discarded: make a new one
/// }
/// ```
///
/// Three promises hold together:
///
/// - *While the counter is above 0* this is an `NSMutableData` like any other: every inherited method works, and a
///   differential test against `NSMutableData` watches over it.
/// - *While it is 0* every use of the bytes or of the length stops the process, in every build, with a message that
///   says what to do. Reading bytes that may be gone would be a race that fails once a month. `description`,
///   `debugDescription`, ``isContentDiscarded()`` and ``discardContentIfPossible()`` never stop it.
/// - *Copies are safe.* `as Data`, `copy()`, `mutableCopy()` and `subdata(with:)` copy the bytes out and live on when
///   this object's content is discarded. ``withBytes(_:)`` lends the bytes without a copy, within a scope.
///
/// The bytes live in pages of their own, which the kernel may take back by itself while the counter is 0; content
/// smaller than a page is kept on the heap and freed when it is discarded. Begin and end may be called from any thread.
/// The bytes themselves are as thread-safe as those of `NSMutableData`: reading from many threads is fine, changing is
/// for one thread at a time.
///
/// An archive decodes as `NSPurgeableData` where this module is linked, and as `NSMutableData` elsewhere.
///
/// - SeeAlso: Apple, "Caching and Purgeable Memory" (2009); `NSPurgeableData`.
//
// Foundation's own mutators are wrong for a subclass of `NSMutableData` (`append` writes at the start, `replaceBytes`
// does not move the tail; both reach past the end), because they assume a storage that only Foundation's own two
// classes have. So each member that touches bytes is overridden here, and ends in `replaceContent(in:with:)` or
// `resizeContent`. An initialiser never lets `super` decode or copy: `super` would call back into these overrides
// before there is anything to call.
open class NSPurgeableData: NSMutableData, NSDiscardableContent {
    /// The bytes and the access counter.
    final let buffer: PurgeableBuffer

    /// How many scopes of ``withBytes(_:)`` are open: while there are any, no mutator may move the bytes away.
    final let lentSpans = Atomic<Int>(0)

    // MARK: Making one: the counter is 1 afterwards

    /// Makes empty data.
    public override init() {
        buffer = PurgeableBuffer(byteCount: 0, capacity: 0)
        super.init()
    }

    /// Makes empty data with room for `capacity` bytes, a gibibyte at most: it is a hint, and where the kernel grants no
    /// such pages there is no room yet. `nil` if it is negative.
    public override init?(capacity: Int) {
        guard capacity >= 0 else { return nil }
        buffer = PurgeableBuffer(byteCount: 0, capacity: Swift.min(capacity, 1 << 30))
        super.init()
    }

    /// Makes data of `length` zero bytes; `nil` if that is negative or more than a tebibyte, or if it is more than a
    /// gibibyte and the kernel grants no such pages.
    public override init?(length: Int) {
        guard (0...1 << 40).contains(length) else { return nil }
        if length > 1 << 30 {
            guard let pages = PurgeableBuffer(pagesFor: length) else { return nil }
            buffer = pages
        } else {
            buffer = PurgeableBuffer(byteCount: length)
        }
        super.init()
    }

    /// Makes data of a copy of `length` bytes.
    public override init(bytes: UnsafeRawPointer?, length: Int) {
        buffer = PurgeableBuffer(copying: UnsafeRawBufferPointer(start: bytes, count: length))
        super.init()
    }

    /// Makes data of a copy of `bytes`, which must come from `malloc` and are freed at once: purgeable bytes cannot
    /// stay in memory that belongs to somebody else.
    public override init(bytesNoCopy bytes: UnsafeMutableRawPointer, length: Int) {
        buffer = PurgeableBuffer(copying: UnsafeRawBufferPointer(start: bytes, count: length))
        super.init()
        free(bytes)
    }

    /// Makes data of a copy of `bytes`, and frees them at once if `freeWhenDone` says so.
    public override init(bytesNoCopy bytes: UnsafeMutableRawPointer, length: Int, freeWhenDone: Bool) {
        buffer = PurgeableBuffer(copying: UnsafeRawBufferPointer(start: bytes, count: length))
        super.init()
        if freeWhenDone { free(bytes) }
    }

    /// Makes data of a copy of `bytes`, and hands them to `deallocator` at once.
    public override init(
        bytesNoCopy bytes: UnsafeMutableRawPointer,
        length: Int,
        deallocator: ((UnsafeMutableRawPointer, Int) -> Void)? = nil
    ) {
        buffer = PurgeableBuffer(copying: UnsafeRawBufferPointer(start: bytes, count: length))
        super.init()
        deallocator?(bytes, length)
    }

    /// Makes data of a copy of `data`.
    public override init(data: Data) {
        buffer = data.withUnsafeBytes { PurgeableBuffer(copying: $0) }
        super.init()
    }

    /// Makes data of the content of a file; `nil` if it cannot be read.
    public override init?(contentsOfFile path: String) {
        guard let content = NSData(contentsOfFile: path) else { return nil }
        buffer = PurgeableBuffer(copying: content)
        super.init()
    }

    /// Makes data of the content of a file.
    public override init(contentsOfFile path: String, options: NSData.ReadingOptions = []) throws {
        buffer = PurgeableBuffer(copying: try NSData(contentsOfFile: path, options: options))
        super.init()
    }

    /// Makes data of what `url` names; `nil` if it cannot be read.
    public override init?(contentsOf url: URL) {
        guard let content = NSData(contentsOf: url) else { return nil }
        buffer = PurgeableBuffer(copying: content)
        super.init()
    }

    /// Makes data of what `url` names.
    public override init(contentsOf url: URL, options: NSData.ReadingOptions = []) throws {
        buffer = PurgeableBuffer(copying: try NSData(contentsOf: url, options: options))
        super.init()
    }

    /// Makes data of decoded Base64; `nil` if it is none.
    public override init?(base64Encoded base64Data: Data, options: NSData.Base64DecodingOptions = []) {
        guard let content = NSData(base64Encoded: base64Data, options: options) else { return nil }
        buffer = PurgeableBuffer(copying: content)
        super.init()
    }

    /// Makes data of decoded Base64; `nil` if it is none.
    public override init?(base64Encoded base64Data: String, options: NSData.Base64DecodingOptions = []) {
        guard let content = NSData(base64Encoded: base64Data, options: options) else { return nil }
        buffer = PurgeableBuffer(copying: content)
        super.init()
    }

    /// Makes data of what an archive holds.
    public required init?(coder aDecoder: NSCoder) {
        guard let content = NSMutableData(coder: aDecoder) else { return nil }
        buffer = PurgeableBuffer(copying: content)
        super.init()
    }

    // MARK: Access

    /// Begins an access: adds one to the counter and answers `true`, or answers `false` and leaves the counter alone if
    /// the bytes are gone. Accesses nest.
    open func beginContentAccess() -> Bool { buffer.beginContentAccess() }

    /// Ends an access. Stops the process if none has begun.
    open func endContentAccess() { buffer.endContentAccess() }

    /// Frees the bytes if the counter is 0; does nothing otherwise, nor a second time.
    open func discardContentIfPossible() { buffer.discardContentIfPossible() }

    /// Whether the bytes are gone. They never come back: make a new object.
    open func isContentDiscarded() -> Bool { buffer.isContentDiscarded }

    // MARK: The three primitives

    /// The number of bytes. Setting it appends zero bytes or drops the last ones.
    open override var length: Int {
        get { accessedContent().byteCount }
        set { resizeContent(to: newValue) }
    }

    /// The bytes; valid until they are changed or the access ends.
    open override var bytes: UnsafeRawPointer { UnsafeRawPointer(accessedContent().base) }

    /// The bytes, to be changed in place; valid until the length changes or the access ends.
    open override var mutableBytes: UnsafeMutableRawPointer { accessedContent().base }

    // MARK: Changing

    /// Appends a copy of `length` bytes. Amortised O(`length`).
    open override func append(_ bytes: UnsafeRawPointer, length: Int) {
        let end = accessedContent().byteCount
        replaceContent(in: end..<end, with: UnsafeRawBufferPointer(start: bytes, count: length))
    }

    /// Appends a copy of `other`.
    open override func append(_ other: Data) {
        let end = accessedContent().byteCount
        other.withUnsafeBytes { replaceContent(in: end..<end, with: $0) }
    }

    /// Appends `extraLength` zero bytes.
    open override func increaseLength(by extraLength: Int) {
        resizeContent(to: accessedContent().byteCount + extraLength)
    }

    /// Overwrites the bytes in `range`, which may reach past the end: the data grows then.
    open override func replaceBytes(in range: NSRange, withBytes bytes: UnsafeRawPointer) {
        overwriteContent(at: range, with: bytes)
    }

    /// Replaces the bytes in `range` by others, as many as there are, and moves the rest along.
    open override func replaceBytes(
        in range: NSRange,
        withBytes replacementBytes: UnsafeRawPointer?,
        length replacementLength: Int
    ) {
        require(
            replacementBytes != nil || replacementLength == 0,
            "NSPurgeableData.replaceBytes(in:withBytes:length:): \(replacementLength) bytes were announced and none given"
        )
        let source = UnsafeRawBufferPointer(start: replacementBytes, count: replacementLength)
        replaceContent(in: checkedRange(range), with: source)
    }

    /// Overwrites the bytes in `range` with zeros. The range may reach past the end: the data grows then.
    open override func resetBytes(in range: NSRange) { overwriteContent(at: range, with: nil) }

    /// Replaces all bytes by a copy of `data`.
    open override func setData(_ data: Data) {
        let all = 0..<accessedContent().byteCount
        data.withUnsafeBytes { replaceContent(in: all, with: $0) }
    }

    // MARK: Reading, where Foundation's own way would copy everything or read past the end

    /// A copy of the bytes in `range`.
    open override func subdata(with range: NSRange) -> Data {
        let content = checkedRange(range)
        return Data(bytes: bytes + content.lowerBound, count: content.count)
    }

    /// Copies the bytes in `range` into `buffer`.
    open override func getBytes(_ buffer: UnsafeMutableRawPointer, range: NSRange) {
        let content = checkedRange(range)
        buffer.copyMemory(from: bytes + content.lowerBound, byteCount: content.count)
    }

    /// Equal to the hash of an `NSData` with the same bytes.
    open override var hash: Int { unownedContent().hash }

    /// Whether `value` is an `NSData` or a `Data` with the same bytes.
    open override func isEqual(_ value: Any?) -> Bool {
        let content = accessedContent()
        guard let other = value as? NSData else { return super.isEqual(value) }
        return other === self || (other.length == content.byteCount && memcmp(other.bytes, bytes, other.length) == 0)
    }

    /// Whether `other` has the same bytes.
    open override func isEqual(to other: Data) -> Bool {
        let content = accessedContent()
        guard other.count == content.byteCount else { return false }
        return other.withUnsafeBytes { $0.isEmpty || memcmp($0.baseAddress!, bytes, $0.count) == 0 }
    }

    // MARK: Describing and archiving

    /// The bytes in hexadecimal while they are accessed, else what has become of them. Never stops the process.
    open override var description: String { described { super.description } }

    /// As ``description``, shortened.
    open override var debugDescription: String { described { super.debugDescription } }

    /// Archives a copy of the bytes, so that the access may end before the archive is finished.
    open override func encode(with aCoder: NSCoder) {
        NSData(bytes: bytes, length: length).encode(with: aCoder)
    }

    /// What an archive decodes as where this module is not linked.
    open override class func classFallbacksForKeyedArchiver() -> [String] { ["NSMutableData", "NSData"] }
}

#endif
