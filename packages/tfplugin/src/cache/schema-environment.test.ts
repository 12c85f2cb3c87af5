import { describe, expect, it } from "vitest";
import { schemaEnvironment } from "./schema-environment.ts";

const SHELL = {
  PATH: "/usr/bin",
  HOME: "/home/one",
  SHLVL: "1",
  TERM: "xterm",
  TF_VAR_enabled: "true",
  STACKWRIGHT_COLOR: "0",
  CLOUD_SECRET_KEY: "of-an-account",
};

describe("what of an environment a schema may depend on", () => {
  it.each([
    ["a beta", { CLOUD_FOURPOINTZERO_BETA: "true" }],
    ["a switch", { CLOUD_MANIFESTS: "1" }],
    ["an experiment with a name", { CLOUD_EXPERIMENTS: "manifest,lists" }],
    ["an experiment of the framework", { TF_X_MANIFEST_RESOURCE: "v2" }],
  ])("is %s", (_, env) => {
    const key = schemaEnvironment({ ...env, ...SHELL });
    expect(key).not.toBe("");
    expect(key).toBe(schemaEnvironment({ ...SHELL, ...env }));
    const [name = ""] = Object.keys(env);
    expect(schemaEnvironment({ ...SHELL, [name]: "off" })).not.toBe(key);
  });

  it("is not what differs between terminals, sessions and accounts", () => {
    expect(schemaEnvironment(SHELL)).toBe("");
    expect(schemaEnvironment({ ...SHELL, SHLVL: "0", CLOUD_SECRET_KEY: "of-another" })).toBe("");
  });
});
