//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

#if LoggingSupport
public import Logging

extension MemoryCacheOptions {
    /// Logs every load to `logger`, beside what ``loadHandler`` does already.
    ///
    /// Loads that return are logged at `debug`. Those that throw are logged at `info`, as the caller is told of the
    /// error and knows better how bad it is; failed refreshes at `warning`, because nobody else hears of them. Loads
    /// that ask for themselves are errors of the program and logged as such.
    ///
    /// Keys appear in the metadata at `trace` only: they may be many, long or private.
    ///
    /// - Parameters:
    ///   - logger: where to.
    ///   - name: the cache's name, as metadata `cache`.
    public mutating func logLoads(to logger: Logger, cache name: String) {
        var logger = logger
        logger[metadataKey: "cache"] = "\(name)"
        let next = loadHandler
        loadHandler = { [logger] load in
            next?(load)
            load.log(to: logger)
        }
    }
}

extension CacheLoad {
    func log(to logger: Logger) {
        var metadata: Logger.Metadata = ["reason": "\(reason)", "milliseconds": "\(duration / .milliseconds(1))"]
        if keys.count > 1 { metadata["keys"] = "\(keys.count)" }
        if logger.logLevel == .trace { metadata["key"] = "\(keys.first.map { "\($0)" } ?? "")" }
        switch result {
        case .loaded(let count):
            metadata["values"] = "\(count)"
            logger.debug("loaded", metadata: metadata)
        case .failed(let error):
            metadata["error"] = "\(error)"
            if error is CacheLoadingError {
                logger.error("load asked for itself", metadata: metadata)
            } else if reason == .refresh {
                logger.warning("refresh failed", metadata: metadata)
            } else {
                logger.info("load failed", metadata: metadata)
            }
        }
    }
}
#endif
