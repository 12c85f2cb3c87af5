import { fromNative, Mark, type NativeInput, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import type { GivenChange } from "./given-plan.ts";
import { riskOf } from "./risk.ts";

function change(given: Partial<GivenChange>): GivenChange {
  return {
    address: "t.a",
    deposed: "",
    mode: "managed",
    type: "t",
    name: "a",
    module: "",
    key: undefined,
    action: "update",
    replacePaths: [],
    causes: [],
    ...given,
  };
}

const native = (input: NativeInput): Value => fromNative(input);
const reasons = (type: string, before: NativeInput, after: NativeInput) =>
  riskOf(change({ type, before: native(before), after: native(after) })).reasons;

const OPENS = "it opens access to every address";
const EVERY = "0.0.0.0/0";
const rule = (port: number, cidr: string, description = "") => ({
  from_port: port,
  to_port: port,
  cidr_blocks: [cidr],
  description,
});

describe("the risk of a rule that is open to every address", () => {
  const group = "aws_security_group";

  it("is seen where an open rule gets another port", () => {
    expect(
      reasons(group, { ingress: [rule(443, EVERY)] }, { ingress: [rule(22, EVERY)] }),
    ).toContain(OPENS);
    const alone = "aws_security_group_rule";
    expect(reasons(alone, rule(443, EVERY), { ...rule(443, EVERY), from_port: 0 })).toContain(
      OPENS,
    );
  });

  it("is not seen where only its description, or a closed rule, changes", () => {
    const before = { ingress: [rule(443, EVERY), rule(22, "10.0.0.0/8")] };
    const after = { ingress: [rule(443, EVERY, "web"), rule(23, "10.0.0.0/8")] };
    expect(reasons(group, before, after)).not.toContain(OPENS);
  });

  it("is not seen in what goes out, in a route, or in what is denied", () => {
    expect(reasons(group, { egress: [] }, { egress: [rule(0, EVERY)] })).not.toContain(OPENS);
    const alone = (type: string) =>
      riskOf(
        change({ type, action: "create", after: native({ cidr_blocks: [EVERY], type: "egress" }) }),
      );
    expect(alone("aws_security_group_rule").reasons).not.toContain(OPENS);
    const route = { cidr_block: EVERY };
    expect(reasons("aws_route", { cidr_block: "10.0.0.0/8" }, route)).not.toContain(OPENS);
    const denied = { source_address_prefix: "*", access: "Deny" };
    expect(
      reasons(
        "azurerm_network_security_rule",
        { ...denied, source_address_prefix: "10.0.0.0/8" },
        denied,
      ),
    ).not.toContain(OPENS);
  });

  it("is seen by every name of every address", () => {
    const one = (source: string) => ({ source_address_prefix: source, access: "Allow" });
    for (const open of ["*", "Internet", EVERY]) {
      expect(reasons("azurerm_network_security_rule", one("10.0.0.0/8"), one(open))).toContain(
        OPENS,
      );
    }
  });

  it("is not told of a sensitive attribute", () => {
    const cidrs = (list: string[]) =>
      Value.object({ cidr_blocks: native(list).mark(Mark.sensitive) });
    const given = change({ before: cidrs(["10.0.0.0/8"]), after: cidrs([EVERY]) });
    expect(riskOf(given)).toEqual({ score: 10, reasons: [] });
  });
});

describe("the risk of lost protection", () => {
  it.each([
    ["aws_s3_bucket_public_access_block", 70, "the block of public access is removed"],
    ["aws_s3_bucket_server_side_encryption_configuration", 90, "encryption is turned off"],
    ["aws_s3_bucket_versioning", 90, "backups or versions are turned off"],
  ])("is seen where %s is deleted", (type, score, reason) => {
    expect(riskOf(change({ type, action: "delete" }))).toEqual({ score, reasons: [reason] });
  });

  it("is seen where the block of public access is removed, or is granted", () => {
    const block = "aws_s3_bucket_public_access_block";
    expect(reasons(block, { block_public_acls: true }, { block_public_acls: false })).toEqual([
      "the block of public access is removed",
    ]);
    expect(reasons("aws_s3_bucket_acl", { acl: "private" }, { acl: "public-read" })).toEqual([
      "public access is turned on",
    ]);
  });

  it("is seen where a policy no longer denies", () => {
    const policy = (effect: string) => ({
      policy: JSON.stringify({ Statement: [{ Effect: effect, Action: "s3:Put", Resource: "a" }] }),
    });
    expect(reasons("aws_iam_policy", policy("Deny"), policy("Allow"))).toEqual([
      "a policy loses what it denies",
    ]);
    expect(reasons("aws_iam_policy", policy("Allow"), policy("Deny"))).toEqual([
      "identity or network changes",
    ]);
  });

  it.each([
    "aws_cloudwatch_log_group",
    "aws_opensearch_domain",
    "azurerm_postgresql_flexible_server",
  ])("is that of data where %s is deleted", (type) => {
    expect(riskOf(change({ type, action: "delete" })).score).toBe(100);
  });
});
