import { EngineError } from "@stackwright/core/errors";
import { ProviderAddress, Version } from "@stackwright/provider-source";
import type { InstalledProvider } from "@stackwright/tfplugin/install";
import { expect, it } from "vitest";
import type { ProviderStanding, RegistryAnswer, RegistryQuery } from "../domain/registry-query.ts";
import { ServerError } from "../domain/server-error.ts";
import { requireUsableProviders } from "./require-usable-providers.ts";

const NONE: RegistryAnswer = { versions: [], withdrawn: [] };
const USABLE: ProviderStanding = { state: "usable", sinceMs: 0, reason: "" };

function installed(type: string, version: string | undefined = "1.0.0"): InstalledProvider {
  return {
    address: ProviderAddress.parse(`stacks.example.com/acme/${type}`),
    version: version === "" ? undefined : Version.parse(version),
    directory: "/none",
    executable: "/none/program",
    origin: "present",
    authentication: undefined,
  };
}

async function check(
  providers: readonly InstalledProvider[],
  answer: (query: Extract<RegistryQuery, { kind: "standing" }>) => RegistryAnswer,
  signal = new AbortController().signal,
) {
  const asked: string[][] = [];
  const readRegistry = async (query: RegistryQuery): Promise<RegistryAnswer> => {
    if (query.kind !== "standing") throw new Error(`another query: ${query.kind}`);
    asked.push(query.providers.map(({ source, version }) => `${source} ${version}`));
    return answer(query);
  };
  const error: unknown = await requireUsableProviders(providers, { readRegistry }, signal).catch(
    (thrown: unknown) => thrown,
  );
  return { asked, error };
}

it("asks once for all versions, and for no program that the operator put in place of a provider", async () => {
  const all = [installed("notes"), installed("lab", "2.0.0"), installed("own", "")];
  const { asked, error } = await check(all, () => ({ ...NONE, standing: [USABLE, USABLE] }));
  expect(error).toBeUndefined();
  expect(asked).toEqual([
    ["stacks.example.com/acme/notes 1.0.0", "stacks.example.com/acme/lab 2.0.0"],
  ]);
  expect((await check([installed("own", "")], () => NONE)).asked).toEqual([]);
});

it("lets a version pass that no registry of the server has", async () => {
  const standing = [{ ...USABLE, state: "unknown" as const }];
  expect((await check([installed("notes")], () => ({ ...NONE, standing }))).error).toBeUndefined();
});

it("says of each refused version its state, since when, why and what to do", async () => {
  const sinceMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  const all = ["notes", "lab", "old", "good", "theirs"].map((type) => installed(type));
  const { error } = await check(all, () => ({
    ...NONE,
    standing: [
      { state: "withdrawn", sinceMs, reason: "" },
      { state: "quarantined", sinceMs, reason: "leaks tokens" },
      { state: "withdrawn", sinceMs: 0, reason: "" },
      USABLE,
      { state: "hidden", sinceMs: 0, reason: "" },
    ],
  }));
  expect(error).toMatchObject({ code: "ENGINE_PROVIDER_UNAVAILABLE" });
  expect((error as Error).message.split("; provider ")).toEqual([
    "provider stacks.example.com/acme/notes 1.0.0 is withdrawn from the registry since 2026-01-02T03:04:05.000Z; require another version and update the lock file, or let an administrator publish the same archive again",
    "stacks.example.com/acme/lab 1.0.0 is in quarantine since 2026-01-02T03:04:05.000Z: leaks tokens; require another version and update the lock file, or let an administrator release it from quarantine",
    expect.stringMatching(/^stacks.example.com\/acme\/old 1.0.0 is withdrawn from the registry;/),
    "stacks.example.com/acme/theirs 1.0.0 is not available to this account: its namespace is a private one of another account; let that account make it public, or require another provider",
  ]);
});

it("starts nothing, and may be tried again, where the registry gives no answer", async () => {
  for (const answer of [
    () => {
      throw new Error("the store is away");
    },
    // A server that knows no such query, or fewer versions than it was asked for.
    () => NONE,
    () => ({ ...NONE, standing: [] }),
  ]) {
    const { error } = await check([installed("notes")], answer);
    expect(error).toMatchObject({ code: "TFPLUGIN_REGISTRY_UNAVAILABLE", retryable: true });
    expect((error as Error).message).toContain("stacks.example.com/acme/notes 1.0.0");
  }
});

it("passes on the end of a claim, a cancel, and what the server refuses", async () => {
  for (const thrown of [
    new ServerError("claim_lost"),
    new EngineError("ENGINE_PROVIDER_UNAVAILABLE", "refused"),
  ]) {
    const { error } = await check([installed("notes")], () => {
      throw thrown;
    });
    expect(error).toBe(thrown);
  }
  const canceled = new Error("canceled");
  const { error } = await check(
    [installed("notes")],
    () => {
      throw new Error("cut off");
    },
    AbortSignal.abort(canceled),
  );
  expect(error).toBe(canceled);
});

it("asks for many versions in parts, each with its answer", async () => {
  const all = Array.from({ length: 230 }, (_, index) => installed(`p${index}`));
  const { asked, error } = await check(all, ({ providers }) => ({
    ...NONE,
    standing: providers.map(({ source }) =>
      source.endsWith("/p229") ? { state: "withdrawn", sinceMs: 0, reason: "" } : USABLE,
    ),
  }));
  expect(asked.map(({ length }) => length)).toEqual([100, 100, 30]);
  expect((error as Error).message).toContain("acme/p229 1.0.0 is withdrawn");
});
