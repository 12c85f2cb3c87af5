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
  it("gives a name that several tokens share to none of them", () => {
    const { tokens, collisions } = nameTokens(["p:a/x:Thing", "p:a/y:Thing", "p:b:Other"]);
    expect(Object.fromEntries(tokens)).toEqual({
      "p:a/x:Thing": "p:a/x:Thing",
      "p:a/y:Thing": "p:a/y:Thing",
      "p:b:Other": "p:b:Other",
      p_b_other: "p:b:Other",
    });
    expect(collisions).toEqual([{ name: "p_a_thing", tokens: ["p:a/x:Thing", "p:a/y:Thing"] }]);
  });
});
