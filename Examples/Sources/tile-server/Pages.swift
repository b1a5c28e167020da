//===----------------------------------------------------------------------===//
// This source file is part of the swift-memory-cache open source project.
// Licensed under Apache License v2.0; see LICENSE for the text.
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//

import HTTPTypes
import Hummingbird
import NIOCore

enum Pages {
    /// The whole set in tiles; a click goes one level deeper.
    static let map = """
        <!doctype html><meta charset="utf-8"><title>tile-server</title>
        <style>body{margin:0;background:#111;color:#ccc;font:14px sans-serif}a{color:#8cf}
        #map{display:grid;grid-template-columns:repeat(6,128px);cursor:zoom-in}p{margin:8px}</style>
        <p>Click a tile to go deeper. <a href="/">whole</a> · <a href="/debug/cache">cache</a> ·
        <a href="/metrics">metrics</a></p><div id="map"></div>
        <script>
        const [z,x0,y0]=(location.hash.slice(1)||"3,1,1").split(",").map(Number);
        for(let y=y0;y<y0+6;y++)for(let x=x0;x<x0+6;x++){const i=new Image(128,128);
        i.src=`/tile/${z}/${x}/${y}`;i.onclick=()=>{location.hash=[z+1,Math.max(0,2*x-2),Math.max(0,2*y-2)];
        location.reload()};document.getElementById("map").append(i)}
        onhashchange=()=>location.reload()</script>
        """

    /// Titles and texts, one under the other.
    static func debug(_ sections: [(title: String, text: String)]) -> String {
        """
        <!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="2"><title>cache</title>
        <style>body{margin:24px;background:#111;color:#ccc;font:14px sans-serif}pre{font-size:14px}a{color:#8cf}</style>
        <p><a href="/">map</a> · <a href="/metrics">metrics</a></p>

        """
            + sections.map { "<h3>\($0.title.escapedForHTML)</h3><pre>\($0.text.escapedForHTML)</pre>\n" }.joined()
    }
}

extension Response {
    /// A page.
    init(html: String) {
        self.init(
            status: .ok,
            headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: html))
        )
    }
}

extension String {
    fileprivate var escapedForHTML: String {
        var text = ""
        for character in self {
            switch character {
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "&": text += "&amp;"
            default: text.append(character)
            }
        }
        return text
    }
}
