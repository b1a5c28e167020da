//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

/// The chart's looks: light, and dark where the reader's system is. Blue, violet and green are ours; the controls are
/// dotted in orange and red. Letters are large enough for a README, which shows the chart at some 830 of its 960
/// pixels.
enum ChartStyle {
    static let sheet = """

        text{font-family:system-ui,-apple-system,"Segoe UI","Helvetica Neue","DejaVu Sans",sans-serif;font-size:15px;fill:#59636e}
        .page{fill:#fff}
        .title{font-size:22px;font-weight:600;fill:#1f2328}
        .panel{font-size:16px;font-weight:600;fill:#1f2328}
        .right{text-anchor:end}.middle{text-anchor:middle}
        .small{font-size:14px}
        .words{font-size:15px;font-weight:400;fill:#59636e}
        .grid{stroke:#d1d9e0;stroke-width:1}
        .axis{stroke:#818b98;stroke-width:1}
        .limit{stroke:#cf222e;stroke-width:1.5;stroke-dasharray:6 4}
        .limitText{fill:#cf222e;font-weight:600}
        .stay{fill:#9a6700;fill-opacity:.10}
        .stayText{fill:#7d4e00;font-weight:600}
        path{fill:none;stroke-linejoin:round;stroke-linecap:round}
        .curve{stroke-width:2.5}
        .memoryCache{stroke:#0969da}.purgeableCache{stroke:#8250df}.appleClasses{stroke:#1a7f37}
        .dictionary{stroke:#bc4c00}.foundationCache{stroke:#cf222e}
        .control{stroke-width:2;stroke-dasharray:1 4}
        .fill{stroke:none;fill-opacity:.13}
        .fill.memoryCache{fill:#0969da}.fill.purgeableCache{fill:#8250df}.fill.appleClasses{fill:#1a7f37}
        .name{font-weight:600}
        .name.memoryCache{fill:#0969da;stroke:none}.name.purgeableCache{fill:#8250df;stroke:none}
        .name.appleClasses{fill:#1a7f37;stroke:none}
        .name.dictionary{fill:#bc4c00;stroke:none}.name.foundationCache{fill:#cf222e;stroke:none}
        .key{stroke-width:3}
        .end circle{fill:#fff;stroke-width:2}.end path{stroke-width:2}
        .normal{fill:#1a7f37;fill-opacity:.22}.warning{fill:#d4a72c}.critical{fill:#cf222e}
        .verdict{font-size:16px;font-weight:600;fill:#1f2328}
        @media (prefers-color-scheme:dark){
        text{fill:#9198a1}
        .page{fill:#0d1117}
        .title,.panel,.verdict{fill:#f0f6fc}
        .words{fill:#9198a1}
        .grid{stroke:#262c36}.axis{stroke:#656c76}
        .limit{stroke:#f85149}.limitText{fill:#f85149}
        .stay{fill:#d29922;fill-opacity:.14}.stayText{fill:#d29922}
        .memoryCache{stroke:#4493f8}.purgeableCache{stroke:#ab7df8}.appleClasses{stroke:#3fb950}
        .dictionary{stroke:#f0883e}.foundationCache{stroke:#ff7b72}
        .fill.memoryCache{fill:#4493f8;stroke:none}.fill.purgeableCache{fill:#ab7df8;stroke:none}
        .fill.appleClasses{fill:#3fb950;stroke:none}
        .name.memoryCache{fill:#4493f8;stroke:none}.name.purgeableCache{fill:#ab7df8;stroke:none}
        .name.appleClasses{fill:#3fb950;stroke:none}
        .name.dictionary{fill:#f0883e;stroke:none}.name.foundationCache{fill:#ff7b72;stroke:none}
        .end circle{fill:#0d1117}
        .normal{fill:#3fb950;fill-opacity:.25}.warning{fill:#d29922}.critical{fill:#f85149}
        }

        """
}
