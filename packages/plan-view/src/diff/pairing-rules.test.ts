import { fromNative, type NativeInput } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { bodyLines } from "../render/diff-lines.ts";
import { diffValues } from "./diff-values.ts";
import { showDiff } from "./show-diff.ts";
import type { ItemDiff, ValueDiff } from "./value-diff.ts";

/** A type, an attribute with its value before and after, and the element pairs as positions. */
type Row = readonly [
  title: string,
  type: string,
  before: NativeInput,
  after: NativeInput,
  pairs: readonly (readonly [number | undefined, number | undefined])[],
];

const json = (value: NativeInput): string => JSON.stringify(value);
const policy = (...statements: NativeInput[]) => ({ policy: json({ Statement: statements }) });

const ROWS: readonly Row[] = [
  [
    "statements by Sid",
    "aws_iam_policy",
    policy({ Sid: "a", Action: ["x"] }, { Sid: "b", Action: ["y"] }),
    policy({ Sid: "b", Action: ["z"] }, { Sid: "c", Action: ["y"] }),
    [
      [0, undefined],
      [1, 0],
      [undefined, 1],
    ],
  ],
  [
    "actions without an order",
    "aws_iam_policy",
    { policy: json({ Statement: [{ Action: ["x", "y"] }] }) },
    { policy: json({ Statement: [{ Action: ["y", "x"] }] }) },
    [[0, 0]],
  ],
  [
    "bindings by role",
    "google_project_iam_policy",
    {
      bindings: [
        { role: "r1", members: ["a"] },
        { role: "r2", members: ["b"] },
      ],
    },
    {
      bindings: [
        { role: "r2", members: ["c"] },
        { role: "r1", members: ["d"] },
      ],
    },
    [
      [1, 0],
      [0, 1],
    ],
  ],
  [
    "rules of a security group without an order",
    "aws_security_group",
    {
      ingress: [
        { protocol: "tcp", from_port: 80, to_port: 80 },
        { protocol: "tcp", from_port: 22, to_port: 22 },
      ],
    },
    {
      ingress: [
        { protocol: "tcp", from_port: 22, to_port: 22 },
        { protocol: "tcp", from_port: 80, to_port: 81 },
      ],
    },
    [
      [1, 0],
      [0, 1],
    ],
  ],
  [
    "address blocks without an order",
    "aws_security_group",
    { cidr_blocks: ["10.0.0.0/8", "10.1.0.0/16"] },
    { cidr_blocks: ["10.1.0.0/16", "10.0.0.0/8"] },
    [
      [1, 0],
      [0, 1],
    ],
  ],
  [
    "containers by name",
    "kubernetes_deployment",
    {
      container: [
        { name: "a", image: "1" },
        { name: "b", image: "1" },
      ],
    },
    { container: [{ name: "b", image: "2" }] },
    [
      [0, undefined],
      [1, 0],
    ],
  ],
  [
    "environment by name",
    "x",
    {
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "2" },
      ],
    },
    {
      env: [
        { name: "B", value: "3" },
        { name: "C", value: "1" },
      ],
    },
    [
      [0, undefined],
      [1, 0],
      [undefined, 1],
    ],
  ],
  [
    "ports by number and protocol",
    "x",
    {
      ports: [
        { containerPort: 80, protocol: "tcp" },
        { containerPort: 80, protocol: "udp" },
      ],
    },
    { ports: [{ containerPort: 80, protocol: "udp", name: "n" }] },
    [
      [0, undefined],
      [1, 0],
    ],
  ],
  [
    "mounts by path",
    "x",
    { volumeMounts: [{ mountPath: "/a", name: "v" }] },
    { volumeMounts: [{ mountPath: "/a", name: "w" }] },
    [[0, 0]],
  ],
  [
    "records without an order",
    "aws_route53_record",
    { records: ["1", "2"] },
    { records: ["2", "1"] },
    [
      [1, 0],
      [0, 1],
    ],
  ],
  [
    "listeners by port",
    "aws_lb",
    {
      listener: [
        { port: 80, protocol: "a" },
        { port: 443, protocol: "b" },
      ],
    },
    { listener: [{ port: 443, protocol: "c" }] },
    [
      [0, undefined],
      [1, 0],
    ],
  ],
  [
    "tags as a list, by key",
    "x",
    {
      tags: [
        { Key: "a", Value: "1" },
        { Key: "b", Value: "2" },
      ],
    },
    {
      tags: [
        { Key: "b", Value: "3" },
        { Key: "a", Value: "1" },
      ],
    },
    [
      [1, 0],
      [0, 1],
    ],
  ],
  [
    "routes by destination",
    "aws_route_table",
    {
      route: [
        { cidr_block: "10.0.0.0/8", gateway: "a" },
        { cidr_block: "0.0.0.0/0", gateway: "b" },
      ],
    },
    { route: [{ cidr_block: "0.0.0.0/0", gateway: "c" }] },
    [
      [0, undefined],
      [1, 0],
    ],
  ],
  [
    "entries of a network ACL by number",
    "aws_network_acl",
    {
      ingress: [
        { rule_no: 100, action: "allow" },
        { rule_no: 200, action: "deny" },
      ],
    },
    { ingress: [{ rule_no: 200, action: "allow" }] },
    [
      [0, undefined],
      [1, 0],
    ],
  ],
];

describe("the built-in rules pair", () => {
  it.each(ROWS)("%s", (_title, type, before, after, pairs) => {
    const diff = diffValues(fromNative(before), fromNative(after), { type });
    const found = itemsOf(diff)?.map(({ beforeIndex, afterIndex }) => [beforeIndex, afterIndex]);
    expect(found).toEqual(pairs);
  });
});

describe("rules of a project", () => {
  it("come before the built-in ones", () => {
    const list = (...ids: string[]) => fromNative({ env: ids.map((id) => ({ name: "n", id })) });
    const diff = diffValues(list("a", "b"), list("b", "c"), {
      rules: [{ place: /^\.env$/, key: ["id"] }],
    });
    expect(itemsOf(diff)?.map(({ pairedBy }) => pairedBy)).toEqual([undefined, "equal", undefined]);
  });

  it("name no key where a key is repeated", () => {
    const before = fromNative({
      env: [
        { name: "A", v: "1" },
        { name: "A", v: "2" },
      ],
    });
    const after = fromNative({ env: [{ name: "A", v: "2" }] });
    expect(itemsOf(diffValues(before, after))?.map(({ beforeIndex }) => beforeIndex)).toEqual([
      0, 1,
    ]);
  });
});

/** The items of the first list on the way down. */
function itemsOf(diff: ValueDiff): readonly ItemDiff[] | undefined {
  if (diff.kind === "items") return diff.items;
  if (diff.kind === "document") return diff.body && itemsOf(diff.body);
  if (diff.kind !== "members") return undefined;
  for (const { diff: inner } of diff.members) {
    const found = itemsOf(inner);
    if (found !== undefined) return found;
  }
  return undefined;
}

it("a changed statement shows what it is about, whatever the attribute of its policy is called", () => {
  const document = (resource: string): { input: string } => ({
    input: json({
      Statement: [{ Sid: "Read", Effect: "Allow", Action: ["s3:GetObject"], Resource: resource }],
    }),
  });
  const diff = diffValues(fromNative(document("a")), fromNative(document("b")), {
    type: "terraform_data",
  });
  expect(bodyLines(showDiff(diff)).map(({ text, note }) => note ?? text)).toEqual([
    "input = jsonencode(",
    "{",
    "Statement = [",
    "{",
    "Action   = [",
    '"s3:GetObject",',
    "]",
    'Effect   = "Allow"',
    'Resource = "a" -> "b"',
    'Sid      = "Read"',
    "},",
    "]",
    "}",
    ")",
  ]);
});
