//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import BenchSupport
import Foundation

/// Implementations that are measured together: every round runs each of them once.
struct Sitting {
    let subjects: [any Subject]
    let measurements: [Measurement]

    /// Prepares all and runs the rounds; the medians of millions of requests a second.
    func medians(rounds: Int, milliseconds: Int) -> [Measurement: [String: Double]] {
        for subject in subjects {
            say("preparing \(subject.name)")
            for workload in measurements.map(\.workload).unique { subject.prepare(workload) }
            // Once unmeasured: page faults, and the JVM's compiler.
            let warmUp = subject is CaffeineSubject ? 300 : 20
            for measurement in measurements { _ = run(subject, measurement, warmUp) }
        }
        var samples: [Measurement: [String: [Double]]] = [:]
        for round in 1...rounds {
            say("round \(round) of \(rounds)")
            for measurement in measurements {
                for subject in subjects {
                    let value = run(subject, measurement, milliseconds)
                    samples[measurement, default: [:]][subject.name, default: []].append(value)
                }
            }
        }
        return samples.mapValues { $0.mapValues(\.median) }
    }

    private func run(_ subject: any Subject, _ measurement: Measurement, _ milliseconds: Int) -> Double {
        subject.run(measurement.workload, threads: measurement.threads, milliseconds: milliseconds)
    }
}

/// Says what is being done, apart from the results.
func say(_ line: String) { try? FileHandle.standardError.write(contentsOf: Data("\(line)\n".utf8)) }

extension Sequence where Element: Hashable {
    /// Each element once, in the order of their first places.
    var unique: [Element] {
        var known: Set<Element> = []
        return filter { known.insert($0).inserted }
    }
}
