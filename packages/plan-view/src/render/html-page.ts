import type { PlanView } from "../model/plan-view.ts";
import { type HtmlOptions, renderHtml } from "./html.ts";
import { visibleText } from "./value-text.ts";

const STYLE = `:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif;background:light-dark(#f6f7f9,#101318);color:light-dark(#1a1f29,#e5e9f0)}
body{max-width:75rem;margin:1.5rem auto;padding:0 1rem}
pre{overflow-x:auto;padding:.6rem .8rem;margin:.4rem 0;background:light-dark(#fff,#181c23);border:1px solid light-dark(#d9dde4,#2d3440);border-radius:6px;font:13px/1.5 ui-monospace,Menlo,Consolas,monospace}
pre .add{color:light-dark(#14713b,#6fd196)}pre .remove{color:light-dark(#b3261e,#ff9d94)}pre .change{color:light-dark(#8a5200,#f2bd66)}
.note,.reasons{color:light-dark(#59616f,#a0a9b8)}summary{cursor:pointer;padding:.2rem 0;overflow-wrap:anywhere}
.sign{display:inline-block;min-width:2.2em;font-family:ui-monospace,monospace;font-weight:700}
.data-loss,.high{border-inline-start:4px solid light-dark(#b3261e,#ff9d94);padding-inline-start:.8rem}`;

/** The view as one page of its own, to be kept or sent: with its style, without scripts and without anything to load. */
export function renderHtmlPage(view: PlanView, options: HtmlOptions = {}): string {
  const title = visibleText(options.title ?? view.stack)
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;");
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Plan of ${title}</title>
<style>${STYLE}</style></head>
<body>
${renderHtml(view, options)}</body></html>
`;
}
