import type { Diagnostic, ModuleProviderRequirement } from "@stackwright/lang";
import { ProviderAddress, VersionConstraints } from "@stackwright/provider-source";
import { expect, it } from "vitest";
import { createCatalog } from "./catalog.ts";
import { startProvider } from "./configure-provider.ts";
import { ProviderInstances } from "./provider-instances.ts";
import { selectVersions } from "./select-versions.ts";

const SOURCE = "registry.example.com/acme/demo";
const NAMED = [{ code: "ENGINE_PROVIDER_UNAVAILABLE", provider: SOURCE }];

const none = createCatalog([], ProviderAddress.parse);

it("names the provider that no origin has in the diagnostic, apart from its text", async () => {
  const requirement: ModuleProviderRequirement = {
    address: ProviderAddress.parse(SOURCE),
    constraints: VersionConstraints.any,
    from: [],
  };
  const diagnostics: Diagnostic[] = [];
  const requirements = new Map([[SOURCE, requirement]]);
  const state = { objects: new Map() };
  const versions = await selectVersions({ requirements }, state, none, diagnostics);
  expect([...versions]).toEqual([]);
  expect(diagnostics).toMatchObject(NAMED);
});

it("names the provider that does not start in the diagnostic, apart from its text", async () => {
  await using providers = new ProviderInstances({
    catalog: none,
    sessionId: "run",
    secrets: undefined,
  });
  const diagnostics: Diagnostic[] = [];
  const use = await startProvider({
    reference: { source: SOURCE, version: "1.0.0", alias: "" },
    providers,
    report: (found) => void diagnostics.push(...found),
  });
  expect(use).toBeUndefined();
  expect(diagnostics).toMatchObject(NAMED);
});
