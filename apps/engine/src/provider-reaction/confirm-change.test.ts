import { expect, it } from "vitest";
import type { ProviderStanding } from "../domain/registry-query.ts";
import type { DueProviderChange } from "../live/due-provider-changes.ts";
import type { ProviderChange } from "../live/provider-changes.ts";
import { confirmChange } from "./confirm-change.ts";

const OWN = "stackwright.example.com";

/** Whether a quarantine of `registry.example.com/acme/demo`, or another change, is one for a source. */
async function confirmed(
  source: string,
  state: ProviderStanding["state"],
  change: Partial<ProviderChange> = {},
): Promise<boolean> {
  const due: DueProviderChange = {
    key: "K",
    stack: { key: "acme/web/S", account: "acme", project: "web", id: "S", name: "site" },
    source,
    used: ["1.0.0"],
    change: {
      key: "C",
      origin: "upstream",
      account: "acme",
      host: "registry.example.com",
      provider: "acme/demo",
      version: "1.0.0",
      change: "quarantined",
      mark: "5",
      ...change,
    },
  };
  const parts = {
    namespaces: new Map([["mirrored", { host: "registry.example.com", namespace: "acme" }]]),
    servedHosts: () => [OWN],
    findStanding: async () => ({ state, sinceMs: 0, reason: "" }),
  };
  return confirmChange(parts, due);
}

it.each([
  ["registry.example.com/acme/demo", true],
  [`${OWN}/mirrored/demo`, true],
  [`${OWN}/acme/demo`, false],
  ["registry.example.com/other/demo", false],
  ["elsewhere.example.com/acme/demo", false],
])("a quarantine concerns the source %s: %s", async (source, expected) => {
  expect(await confirmed(source, "quarantined")).toBe(expected);
});

it("a quarantine that has ended meanwhile concerns no stack", async () => {
  expect(await confirmed("registry.example.com/acme/demo", "usable")).toBe(false);
});

it.each([
  ["usable", true],
  ["hidden", false],
  ["withdrawn", false],
] as const)("a deprecation of a version that is %s to the account: %s", async (state, expected) => {
  const change = { origin: "published", host: "", change: "deprecated" } as const;
  expect(await confirmed(`${OWN}/acme/demo`, state, change)).toBe(expected);
});

it("a version of the server concerns no source in a namespace that stands for another registry", async () => {
  const change = { origin: "published", host: "", provider: "mirrored/demo" } as const;
  expect(await confirmed(`${OWN}/mirrored/demo`, "quarantined", change)).toBe(false);
});
