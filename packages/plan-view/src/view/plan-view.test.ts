import { fromNative, Mark, Path, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { renderHtml } from "../render/html.ts";
import { renderMarkdown } from "../render/markdown.ts";
import { renderTerminal } from "../render/terminal.ts";
import type { GivenChange, GivenPlan } from "./given-plan.ts";
import { planView } from "./plan-view.ts";

function change(
  given: Partial<GivenChange> & Pick<GivenChange, "address" | "action">,
): GivenChange {
  const [type = "", name = ""] = given.address.replace(/\[.*$/, "").split(".").slice(-2);
  return {
    deposed: "",
    mode: "managed",
    type,
    name,
    module: "",
    key: undefined,
    replacePaths: [],
    causes: [],
    ...given,
  };
}

function plan(...changes: readonly GivenChange[]): GivenPlan {
  return {
    stack: "shop/prod",
    revision: 7n,
    mode: "normal",
    partial: false,
    createdAtMs: 0,
    changes,
    outputs: [],
    drift: [],
    checks: [],
  };
}

const vpc = change({
  address: "aws_vpc.main",
  action: "replace",
  order: "delete-first",
  before: fromNative({ cidr: "10.0.0.0/16", id: "vpc-1" }),
  after: Value.object({ cidr: Value.string("10.1.0.0/16"), id: Value.unknown(Type.string) }),
  replacePaths: [Path.root.attribute("cidr")],
  reason: "replace-because-cannot-update",
});

const subnet = (index: number): GivenChange =>
  change({
    address: `aws_subnet.a[${index}]`,
    action: "replace",
    order: "delete-first",
    key: index,
    before: fromNative({ vpc_id: "vpc-1", name: `net-${index}` }),
    after: Value.object({
      vpc_id: Value.unknown(Type.string),
      name: Value.string(`net-${index}`),
    }),
    replacePaths: [Path.root.attribute("vpc_id")],
    causes: [{ path: Path.root.attribute("vpc_id"), replaces: true, because: ["aws_vpc.main"] }],
  });

describe("planView", () => {
  it("explains a change by the chain up to its root", () => {
    const instance = change({
      address: "aws_thing.c",
      action: "update",
      before: fromNative({ subnet: "s-1" }),
      after: Value.object({ subnet: Value.unknown(Type.string) }),
      causes: [
        { path: Path.root.attribute("subnet"), replaces: false, because: ["aws_subnet.a[0]"] },
      ],
    });
    const view = planView(plan(vpc, subnet(0), instance));
    expect(view.changes[2]?.causes).toEqual([
      { path: "subnet", replaces: false, chain: ["aws_subnet.a[0]", "aws_vpc.main"] },
    ]);
    expect(view.rootCauses).toEqual([{ address: "aws_vpc.main", explains: 2 }]);
    expect(view.changes[0]?.reason).toBe("cidr cannot change in place");
  });

  it("folds alike instances, and every change is in exactly one entry", () => {
    const view = planView(plan(vpc, ...[0, 1, 2, 3, 4].map(subnet)));
    const positions = view.groups.flatMap(({ entries }) =>
      entries.flatMap((entry) => entry.changes),
    );
    expect(positions.toSorted((left, right) => left - right)).toEqual([0, 1, 2, 3, 4, 5]);
    const folded = view.groups
      .flatMap(({ entries }) => entries)
      .find((entry) => entry.changes.length > 1);
    expect(folded).toEqual({ changes: [1, 2, 3, 4, 5], varies: [] });
  });

  it("names what differs inside of a fold", () => {
    const tagged = (key: string) =>
      change({
        address: `aws_thing.a["${key}"]`,
        action: "update",
        key,
        before: fromNative({ text: "old", tag: "t" }),
        after: fromNative({ text: `for ${key}`, tag: "u" }),
      });
    const view = planView(plan(...["web", "api", "job", "db"].map(tagged)));
    expect(view.groups[0]?.entries).toEqual([{ changes: [0, 1, 2, 3], varies: ["text"] }]);
  });

  it("does not fold instances that change to values of their own", () => {
    const sized = (key: string, size: string) =>
      change({
        address: `aws_thing.a["${key}"]`,
        action: "update",
        key,
        before: fromNative({ size: "s" }),
        after: fromNative({ size }),
      });
    const view = planView(
      plan(sized("a", "m"), sized("b", "m"), sized("c", "m"), sized("d", "xl")),
    );
    expect(view.groups[0]?.entries.map(({ changes }) => changes.length)).toEqual([1, 1, 1, 1]);
  });

  it("folds instances whose key is also another part of a value", () => {
    const counted = (index: number) =>
      change({
        address: `aws_thing.a[${index}]`,
        action: "create",
        key: index,
        after: fromNative({ name: `eu-1-web-${index}`, ports: [{ name: `p-${index}` }, 1, 2] }),
      });
    const view = planView(plan(...[0, 1, 2, 3, 10].map(counted)));
    expect(view.groups[0]?.entries).toEqual([
      { changes: [0, 1, 2, 3, 4], varies: ["name", "ports"] },
    ]);
  });

  it("folds instances whose keys begin alike", () => {
    const named = (key: string) =>
      change({
        address: `aws_thing.a["${key}"]`,
        action: "create",
        key,
        // What all of them begin with is a key of one of them.
        after: fromNative({ name: `eu-west-${key}`, path: `/${key}/${key}` }),
      });
    const view = planView(plan(...["eu", "eu-west", "eu-west-1", "e"].map(named)));
    expect(view.groups[0]?.entries).toEqual([{ changes: [0, 1, 2, 3], varies: ["name", "path"] }]);
  });

  it("folds instances whose number stands between dots", () => {
    const networked = (index: number) =>
      change({
        address: `aws_subnet.a[${index}]`,
        action: "create",
        key: index,
        after: fromNative({ cidr: `10.0.${index}.0/24`, name: `net.${index}.example.org` }),
      });
    const view = planView(plan(...[0, 1, 2, 10].map(networked)));
    expect(view.groups[0]?.entries).toEqual([{ changes: [0, 1, 2, 3], varies: ["cidr", "name"] }]);
  });

  it("does not fold addresses that follow no number of an instance", () => {
    const networked = (index: number) =>
      change({
        address: `aws_subnet.a[${index}]`,
        action: "create",
        key: index,
        after: fromNative({ cidr: `10.0.${index * 16}.0/24` }),
      });
    const view = planView(plan(...[0, 1, 2, 3].map(networked)));
    expect(view.groups[0]?.entries.map(({ changes }) => changes.length)).toEqual([1, 1, 1, 1]);
  });

  it("does not fold three", () => {
    const view = planView(plan(...[0, 1, 2].map(subnet)));
    expect(
      view.groups.flatMap(({ entries }) => entries).map(({ changes }) => changes.length),
    ).toEqual([1, 1, 1]);
  });

  it("names the provisioners that run with a change", () => {
    const step = { when: "create", type: "local-exec", onFailure: "fail" } as const;
    const view = planView(
      plan(
        change({ address: "t.a", action: "create", provisioners: [{ ...step, summary: "ls" }] }),
      ),
    );
    expect(renderTerminal(view)).toContain(
      "  # (provisioner local-exec runs after it is created: ls)\n",
    );
  });

  it("follows a circle of causes to an end", () => {
    const one = (address: string, because: string) =>
      change({
        address,
        action: "update",
        causes: [{ path: Path.root.attribute("x"), replaces: false, because: [because] }],
      });
    const view = planView(plan(one("t.a", "t.b"), one("t.b", "t.a")));
    expect(view.changes[0]?.causes[0]?.chain).toEqual(["t.b", "t.a"]);
  });
});

describe("risk", () => {
  const object = (input: Parameters<typeof fromNative>[0]) => fromNative(input);
  const score = (given: Parameters<typeof change>[0]) =>
    planView(plan(change(given))).changes[0]?.risk;

  it.each([
    ["aws_db_instance.a", "delete", 100],
    ["aws_s3_bucket.a", "replace", 100],
    ["aws_iam_role.a", "delete", 70],
    ["aws_route_table.a", "delete", 70],
    ["aws_thing.a", "delete", 50],
    ["aws_thing.a", "update", 10],
    ["aws_iam_role.a", "update", 30],
    ["aws_thing.a", "forget", 30],
    ["aws_thing.a", "create", 5],
    ["aws_thing.a", "no-op", 0],
  ] as const)("%s %s is %d", (address, action, expected) => {
    expect(score({ address, action })?.score).toBe(expected);
  });

  it("sees protection that is turned off", () => {
    const risk = score({
      address: "aws_rds.a",
      action: "update",
      before: object({ deletion_protection: true }),
      after: object({ deletion_protection: false }),
    });
    expect(risk).toEqual({ score: 90, reasons: ["protection against deletion is turned off"] });
  });

  it("sees access that is opened to every address, and not one that was open", () => {
    const rule = (...cidrs: string[]) => object({ cidr_blocks: cidrs });
    const update = { address: "aws_thing.a", action: "update" } as const;
    expect(
      score({ ...update, before: rule("10.0.0.0/8"), after: rule("10.0.0.0/8", "0.0.0.0/0") })
        ?.score,
    ).toBe(70);
    expect(
      score({ ...update, before: rule("0.0.0.0/0"), after: rule("0.0.0.0/0", "10.0.0.0/8") })
        ?.score,
    ).toBe(10);
  });

  it("sees a wildcard that a policy gains", () => {
    const policy = (action: string) =>
      object({ policy: JSON.stringify({ Statement: [{ Action: action }] }) });
    const update = { address: "aws_thing.a", action: "update" } as const;
    expect(score({ ...update, before: policy("s3:Get"), after: policy("s3:*") })?.score).toBe(70);
  });

  it("is what a project's rule says first", () => {
    const view = planView(plan(change({ address: "aws_db_instance.a", action: "delete" })), {
      risk: { rules: [{ types: /db/, score: 12, reason: "a sandbox" }] },
    });
    expect(view.changes[0]?.risk).toEqual({ score: 12, reasons: ["a sandbox"] });
  });
});

describe("renderers", () => {
  const canary = "c4n4ry-0451";
  const secret = Value.string(canary).mark(Mark.sensitive);
  const hidden = plan(
    change({
      address: "aws_db_instance.main",
      action: "replace",
      order: "delete-first",
      before: Value.object({ password: secret, engine: Value.string("a\u001B[2J") }),
      after: Value.object({ password: Value.string("other"), engine: Value.string("b") }),
      replacePaths: [Path.root.attribute("engine")],
    }),
    change({
      address: 'aws_thing.x["</summary><script>alert(1)</script> @all #12 `"]',
      action: "create",
      after: Value.object({ text: Value.string("```\n</details>"), password: secret }),
    }),
  );
  const given: GivenPlan = {
    ...hidden,
    outputs: [{ name: "out", after: Value.string(canary), sensitive: true }],
  };
  const view = planView(given);

  it("hold no sensitive byte", () => {
    for (const text of [
      JSON.stringify(view),
      renderTerminal(view, { color: true }),
      renderMarkdown(view),
      renderHtml(view),
    ]) {
      expect(text).not.toContain(canary);
    }
  });

  it("leave out a secret that is not set, as any other attribute", () => {
    const after = Value.object({
      content: Value.string("x"),
      token: Value.null(Type.string).mark(Mark.sensitive),
    });
    const created = planView(plan(change({ address: "a.b", action: "create", after })));
    expect(renderTerminal(created)).toContain('+ content = "x"');
    for (const text of [renderTerminal(created), renderMarkdown(created), renderHtml(created)]) {
      expect(text).not.toContain("token");
    }
  });

  it("write no escape sequence of a value", () => {
    const text = renderTerminal(view);
    expect(text.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  it("write the plan for a terminal", () => {
    expect(
      renderTerminal(planView(plan(vpc, ...[0, 1, 2, 3].map(subnet)))),
    ).toBe(`aws_vpc.main causes 4 other changes.

  # aws_subnet.a[0] must be replaced
  # (4 alike, aws_subnet.a[0] to aws_subnet.a[3])
  # (vpc_id cannot change in place)
  # (vpc_id forces replacement because of aws_vpc.main)
  # (risk: identity, network or DNS is destroyed or replaced)
-/+ resource "aws_subnet" "a" {
        name   = "net-0"
      ~ vpc_id = "vpc-1" -> (known after apply) # forces replacement
    }

  # aws_vpc.main must be replaced
  # (cidr cannot change in place)
  # (risk: identity, network or DNS is destroyed or replaced)
-/+ resource "aws_vpc" "main" {
      ~ cidr = "10.0.0.0/16" -> "10.1.0.0/16" # forces replacement
      ~ id   = "vpc-1" -> (known after apply)
    }

Plan: 5 to add, 0 to change, 5 to destroy.
`);
  });

  it("keep Markdown within its limit, with balanced details and fences", () => {
    const many = planView(
      plan(
        ...Array.from({ length: 400 }, (_, index) => subnet(index)).map((one, index) => ({
          ...one,
          name: `n${index}`,
          address: `aws_subnet.n${index}`,
        })),
      ),
    );
    for (const limitBytes of [999, 1_000, 5_000, 60_000]) {
      const text = renderMarkdown(many, { limitBytes, link: "https://example.org/runs/1" });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(Math.max(1_000, limitBytes));
      expect(text.match(/<details/g)?.length ?? 0).toBe(text.match(/<\/details>/g)?.length ?? 0);
      expect((text.match(/^```+/gm)?.length ?? 0) % 2).toBe(0);
    }
    expect(renderMarkdown(many, { limitBytes: 5_000 })).toMatch(/\d+ more changes not shown/);
  });

  it("take nothing of a name into HTML or Markdown", () => {
    for (const text of [renderHtml(view), renderMarkdown(view)]) {
      expect(text).not.toContain("<script");
      expect(text.match(/<summary/g)?.length).toBe(text.match(/<\/summary>/g)?.length);
    }
    expect(renderMarkdown(view)).not.toContain("@all");
    // The fence is longer than the back-ticks of the value.
    expect(
      renderMarkdown(planView(plan({ ...vpc, after: fromNative({ cidr: "````" }) }))),
    ).toContain("`````diff");
  });
});
