import { describe, expect, it } from "vitest";
import { nameOfToken, nameTokens } from "./token-name.ts";

describe("nameOfToken", () => {
  it.each([
    ["random:index/randomId:RandomId", "random_random_id"],
    ["aws:s3/bucket:Bucket", "aws_s3_bucket"],
    ["command:local:Command", "command_local_command"],
    ["kubernetes:apps/v1:Deployment", "kubernetes_apps_deployment"],
    ["pkg::Thing", "pkg_thing"],
    ["aws:ec2/getVPCEndpoint:getVPCEndpoint", "aws_ec2_get_vpc_endpoint"],
  ])("%s is %s", (token, name) => {
    expect(nameOfToken(token)).toBe(name);
  });
});

describe("nameTokens", () => {
  it("gives a name that several tokens share to none of them, and each its long name", () => {
    const { tokens, collisions } = nameTokens(["p:a/x:Thing", "p:a/y:Thing", "p:b:Other"]);
    expect(Object.fromEntries(tokens)).toEqual({
      "p:a/x:Thing": "p:a/x:Thing",
      "p:a/y:Thing": "p:a/y:Thing",
      "p:b:Other": "p:b:Other",
      p_a_x_thing: "p:a/x:Thing",
      p_a_y_thing: "p:a/y:Thing",
      p_b_other: "p:b:Other",
    });
    expect(collisions).toEqual([
      {
        name: "p_a_thing",
        tokens: ["p:a/x:Thing", "p:a/y:Thing"],
        names: ["p_a_x_thing", "p_a_y_thing"],
      },
    ]);
  });

  it("gives a long name to nobody where it is not one token's alone", () => {
    const { tokens, collisions } = nameTokens([
      "k:apps/v1:Set",
      "k:apps/v2:Set",
      // Its own name is the long one of the first.
      "k:apps_v1:Set",
      "q:index:aB",
      "q:index:a_b",
    ]);
    expect(tokens.get("k_apps_v1_set")).toBe("k:apps_v1:Set");
    expect(tokens.get("k_apps_v2_set")).toBe("k:apps/v2:Set");
    expect(tokens.has("k_apps_set")).toBe(false);
    expect(collisions.map(({ name, names }) => [name, ...names])).toEqual([
      ["k_apps_set", "k:apps/v1:Set", "k_apps_v2_set"],
      ["q_a_b", "q:index:aB", "q:index:a_b"],
    ]);
  });
});
