import { fromNative, Path } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import type { GivenChange, GivenPlan } from "../view/given-plan.ts";
import { planView } from "../view/plan-view.ts";
import { renderHtml } from "./html.ts";
import { renderHtmlPage } from "./html-page.ts";
import { renderMarkdown } from "./markdown.ts";
import { renderTerminal } from "./terminal.ts";

function plan(given: Partial<GivenPlan>): GivenPlan {
  return {
    stack: "shop/prod",
    revision: 7n,
    mode: "normal",
    partial: false,
    createdAtMs: 0,
    changes: [],
    outputs: [],
    drift: [],
    checks: [],
    ...given,
  };
}

function change(given: Partial<GivenChange>): GivenChange {
  return {
    address: "t.a",
    deposed: "",
    mode: "managed",
    type: "t",
    name: "a",
    module: "",
    key: undefined,
    action: "create",
    replacePaths: [],
    causes: [],
    ...given,
  };
}

const RENDERERS = [
  ["terminal", renderTerminal],
  ["Markdown", renderMarkdown],
  ["HTML", renderHtml],
  ["an HTML page", renderHtmlPage],
] as const;

const escapes = "\u001B[2J\u202Egone\u0007\u061C\u{E0041}";
const drift = {
  address: `t.b["${escapes}"]`,
  deposed: "",
  type: "t",
  before: fromNative({ a: 1 }),
  after: fromNative({ a: 2 }),
  relevant: true,
} as const;

describe.each(RENDERERS)("the %s form", (_, render) => {
  it("has no control character of any text", () => {
    const causes = ["t.b", "t.c", "t.d", "t.e", "t.f"].map((address) =>
      change({
        address,
        action: "update",
        causes: [
          { path: Path.root.attribute("x"), replaces: false, because: [`t.x["${escapes}"]`] },
        ],
      }),
    );
    const view = planView(
      plan({
        stack: escapes,
        changes: [
          change({ address: `t.a["${escapes}"]`, type: escapes, action: "delete" }),
          change({
            action: "update",
            importing: { id: escapes },
            provisioners: [
              { when: "create", type: "local-exec", onFailure: "fail", summary: escapes },
            ],
          }),
          ...causes,
        ],
        drift: [drift],
        checks: [{ address: "check.a", kind: "check", status: "fail", message: escapes }],
      }),
    );
    expect(render(view).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it("says what is left out, what fails and what changed elsewhere", () => {
    const text = render(
      planView(
        plan({
          partial: true,
          drift: [{ ...drift, address: "t.b" }],
          checks: [
            { address: "check.a", kind: "check", status: "fail", message: "no\nanswer" },
            { address: "check.b", kind: "check", status: "unknown" },
          ],
        }),
      ),
    );
    expect(text).toContain("targeted part");
    expect(text).toContain("check.a: no answer");
    expect(text).not.toContain("check.b");
    expect(text).toContain("t.b has changed");
  });

  it("says that it is a stage, what is left for later and why, and what merely moves", () => {
    const deferred = [
      { address: "t.later", because: `its for_each${escapes} is not known` },
      ...Array.from({ length: 60 }, (_, at) => ({ address: `t.n${at}`, because: "it waits" })),
    ];
    const moves = [{ from: "t.old", to: "t.later" }];
    const text = render(planView(plan({ partial: true, deferred, moves })));
    expect(text).toContain("This plan is a stage: 61 parts are left to the next one.");
    expect(text).toContain("t.later: its for");
    expect(text).toContain("and 11 more");
    expect(text).toContain("t.old to t.later");
    expect(text).toContain("1 to move");
    expect(text).not.toContain("targeted part");
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    const empty = render(planView(plan({ partial: true, deferred })));
    expect(empty).toContain("No changes");
    expect(empty).toContain("in this stage");
    expect(empty).not.toContain("as the configuration says");
  });

  it("shows all drift of a plan that only refreshes, and no change where nothing changes", () => {
    const unrelated = { ...drift, address: "t.b", relevant: false };
    const of = (given: Partial<GivenPlan>) => render(planView(plan(given)));
    expect(of({ mode: "refresh-only", drift: [unrelated] })).toContain("t.b has changed");
    expect(of({ mode: "refresh-only", drift: [unrelated] })).not.toContain("No changes");
    expect(of({ drift: [unrelated] })).toContain("No changes");
  });

  it("names a provisioner that runs when an object is created", () => {
    const summary = "curl https://example.org";
    const provisioners = [
      { when: "create", type: "local-exec", onFailure: "fail", summary },
    ] as const;
    const alike = ["a", "b", "c", "d"].map((name) => change({ address: `t.${name}`, name }));
    const text = render(
      planView(plan({ changes: [...alike, change({ address: "t.z", name: "z", provisioners })] })),
    );
    expect(text).toContain("provisioner local-exec runs after it is created");
  });
});

describe("Markdown", () => {
  it("is within its limit whatever the title and the link are", () => {
    const changes = Array.from({ length: 30 }, (_, index) =>
      change({
        address: `t.a${index}`,
        name: `a${index}`,
        action: "delete",
        before: fromNative({ text: "x".repeat(90) }),
      }),
    );
    for (const title of ["*".repeat(300), "\u001B".repeat(300), "\u{1F600}".repeat(300), "a"]) {
      for (const link of [
        "https://example.org/1",
        `https://example.org/${"\u{1F600}".repeat(300)}`,
      ]) {
        const text = renderMarkdown(planView(plan({ changes })), {
          limitBytes: 1_000,
          title,
          link,
        });
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_000);
        expect(text).toMatch(/\d+ more changes not shown/);
      }
    }
  });

  it("mentions no one and names no issue, in the rendered text too", () => {
    const id = "@all and #12, GH-7, a@b";
    const view = planView(plan({ changes: [change({ action: "update", importing: { id } })] }));
    const text = renderMarkdown(view)
      .replaceAll("&#8203;", "\u200B")
      .replaceAll(/&#(\d+);/g, (_, point: string) => String.fromCodePoint(Number(point)));
    expect(text).toContain("@\u200Ball and #\u200B12, GH-\u200B7, a@\u200Bb");
  });

  it("is written of texts with very many back-ticks", () => {
    const text = "`a".repeat(30_000);
    const before = fromNative(
      Object.fromEntries(["a", "b", "c", "d", "e"].map((name) => [name, text])),
    );
    const view = planView(plan({ changes: [change({ action: "delete", before })] }));
    expect(renderMarkdown(view, { limitBytes: 1_000_000 })).toContain("\n```diff\n");
  });
});

describe("a fold", () => {
  it("names the imported ids that it hides", () => {
    const changes = [0, 1, 2, 3].map((index) =>
      change({ address: `t.a[${index}]`, key: index, importing: { id: `i-${index * 7}` } }),
    );
    const [entry] = planView(plan({ changes })).groups[0]?.entries ?? [];
    expect(entry).toEqual({ changes: [0, 1, 2, 3], varies: ["the imported id"] });
  });
});
