import fc from "fast-check";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { linkAddress } from "./link-address.ts";
import { MarkdownView } from "./markdown-view.tsx";

const htmlOf = (text: string): string =>
  renderToStaticMarkup(createElement(MarkdownView, { text, idPrefix: "readme--" }));

const TAGS = new Set(
  "div h3 h4 h5 h6 p pre code blockquote ul ol li table thead tbody tr th td hr br strong em del a span".split(
    " ",
  ),
);
const ATTRIBUTES =
  /^(?: (?:class="(?:markdown|diff|quiet|table-scroll)"|tabindex="0"|scope="col"|start="\d+"|id="readme--[^"]*"|href="(?:https?:|mailto:|#readme--)[^"]*"|title="(?:https?:|mailto:)[^"]*"|target="_blank"|rel="noopener noreferrer nofollow"))*\/?$/;

/** What of the markup is not meant to be there. */
function strangeIn(html: string): readonly string[] {
  return Array.from(html.matchAll(/<\/?([a-z][a-z0-9]*)([^>]*)>/gi)).flatMap(
    ([whole, tag = "", attributes = ""]) =>
      TAGS.has(tag) && ATTRIBUTES.test(attributes) ? [] : [whole],
  );
}

/** What would run, load something or leave the page where it became markup. */
const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  '<svg onload="alert(1)"><use href="https://evil.example/x.svg#a"/></svg>',
  "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
  "<a href='javascript:alert(1)'>x</a>",
  "<style>@import 'https://evil.example/x.css'</style>",
  '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  "<form action=https://evil.example><button>x</button></form>",
  "<base href=https://evil.example>",
  "[x](javascript:alert(1))",
  "[x](JaVaScRiPt:alert(1))",
  "[x](java\tscript:alert(1))",
  "[x](javascript&colon;alert(1))",
  "[x](javascript&#58;alert(1))",
  "[x](&#x6a;avascript:alert(1))",
  "[x](\u0001javascript:alert(1))",
  "[x](<java\nscript:alert(1)>)",
  "[x](vbscript:msgbox(1))",
  "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
  "[x](blob:https://evil.example/1)",
  "[x](file:///etc/passwd)",
  "[x](//evil.example/x)",
  "[x](/console/settings)",
  "[x](https://user:password@evil.example/)",
  "<javascript:alert(1)>",
  "![x](javascript:alert(1))",
  "![x](https://evil.example/pixel.png)",
  '![x"onerror="alert(1)](https://evil.example/x)',
  '[x](https://evil.example/"onmouseover="alert(1) "t\\"onclick=alert(1)")',
  "[x]: javascript:alert(1)\n\n[x]",
  '```"><script>alert(1)</script>\n<script>alert(1)</script>\n```',
  "`<script>alert(1)</script>`",
  "# <img src=x onerror=alert(1)>",
  "|<script>alert(1)</script>|\n|-|\n|<img src=x onerror=alert(1)>|",
  "&lt;script&gt;alert(1)&lt;/script&gt;",
  "<!--><img src=x onerror=alert(1)>-->",
  "<pre onclick=alert(1)>",
  '<a name="x" onclick="alert(1)"></a>',
  "<details ontoggle=alert(1) open>x</details>",
  "[x](#content)",
  "- [ ] <input onfocus=alert(1) autofocus>",
];

it("nothing that is written in a README becomes markup of its own", () => {
  for (const text of HOSTILE) expect([text, strangeIn(htmlOf(text))]).toEqual([text, []]);
  expect(strangeIn("<img src=x onerror=alert(1)>")).toHaveLength(1);
  expect(strangeIn('<a href="javascript:alert(1)">')).toHaveLength(1);
});

it("nor does any mixture of it", () => {
  const part = fc.oneof(
    fc.constantFrom(...HOSTILE),
    fc.constantFrom("\n", "\n\n", "> ", "- ", "1. ", "**", "_", "`", "[", "](", ")", "|", "&", "#"),
    fc.string({ maxLength: 8, unit: "binary" }),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      expect(strangeIn(htmlOf(parts.join("")))).toEqual([]);
    }),
    { numRuns: 60 },
  );
});

it("shows headings, lists, tables, code and links as such", () => {
  const html = htmlOf(`# Network & more

Takes \`cidr\`, see [the docs](https://docs.example/a?b=1&c=2), [inputs](#inputs) and [a file](./x.md).

## Inputs

<!-- BEGIN_TF_DOCS -->
| Name | Type |
|------|:-----|
| <a name="input_cidr"></a> [cidr](#input\\_cidr) | <pre>list(string)</pre> one<br>two |

1. first
2. **second** &rarr; ~~third~~

> said

![build](https://ci.example/badge.svg)
`);
  expect(html).toContain('<h3 id="readme--network--more">Network &amp; more</h3>');
  expect(html).toContain(
    '<a href="https://docs.example/a?b=1&amp;c=2" title="https://docs.example/a?b=1&amp;c=2" target="_blank" rel="noopener noreferrer nofollow">the docs</a>',
  );
  expect(html).toContain('<a href="#readme--inputs">inputs</a> and a file.');
  expect(html).toContain('<h4 id="readme--inputs">Inputs</h4>');
  expect(html).toContain("<td>list(string) one<br/>two</td>");
  expect(html).toContain("<strong>second</strong> → <del>third</del>");
  expect(html).toContain("<blockquote><p>said</p></blockquote>");
  expect(html).toContain('<span class="quiet">build</span>');
  expect(html).not.toMatch(/TF_DOCS|badge\.svg|&lt;/);
});

it("shows directions of writing as their codes, and keeps them out of code, too", () => {
  expect(htmlOf("a\u202eb `c\u2066d`")).toBe(
    String.raw`<div class="markdown"><p>a\u202eb <code>c\u2066d</code></p></div>`,
  );
});

it("shows the source of what is too long or too deep, in time that grows with its length", () => {
  expect(htmlOf("x".repeat(200_001))).toMatch(/^<div class="markdown"><pre/);
  for (const text of [">", "- ", "[", "![", "*a ", "`", "<", "&#", "|a|\n"]) {
    expect(strangeIn(htmlOf(text.repeat(5_000)))).toEqual([]);
  }
});

it("an address of a link is absolute and runs nothing", () => {
  expect(linkAddress("https://a.example/x")).toBe("https://a.example/x");
  expect(linkAddress("mailto:a@a.example")).toBe("mailto:a@a.example");
  for (const href of ["", "x", "//a.example", "java\nscript:1", " javascript:1", "ftp://a.example"])
    expect(linkAddress(href)).toBeUndefined();
});
