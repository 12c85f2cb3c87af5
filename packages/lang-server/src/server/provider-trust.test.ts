import { expect, it } from "vitest";
import { ProviderTrust, type TrustDecision } from "./provider-trust.ts";

function start(decision: TrustDecision | undefined) {
  const asked: string[] = [];
  const trust = new ProviderTrust({
    trust: { decision: async () => decision, remember: async () => undefined },
    rootOf: (folder) => (folder.startsWith("/work/own") ? "/work/own" : folder),
    isInWorkspace: (folder) => folder.startsWith("/work/own"),
    ask: async (root) => {
      asked.push(root);
      return undefined;
    },
    onTrusted: () => undefined,
    onError: (error) => {
      throw error;
    },
  });
  return { trust, asked };
}

it.each(["/work/own/.terraform/modules/net/sub", "/work/own/a/.stackwright/modules/net"])(
  "who trusts a workspace does not trust the package of a module that it fetched to %s",
  async (folder) => {
    const { trust, asked } = start("trusted");
    expect(await trust.allows("/work/own/a")).toBe(true);
    expect(await trust.allows(folder)).toBe(false);
    trust.ofEditor = true;
    expect(await trust.allows("/work/own/a")).toBe(true);
    expect(await trust.allows(folder)).toBe(false);
    expect(asked).toEqual([]);
  },
);

it("the trust of an editor is that in its workspace: about other folders the user is asked", async () => {
  const { trust, asked } = start(undefined);
  trust.ofEditor = true;
  expect(await trust.allows("/work/own/a")).toBe(true);
  expect(await trust.allows("/work/clone")).toBe(false);
  expect(asked).toEqual(["/work/clone"]);
  trust.ofEditor = false;
  expect(await trust.allows("/work/own/a")).toBe(false);
  expect(await trust.allows("/work/other")).toBe(false);
  expect(asked).toEqual(["/work/clone"]);
});
