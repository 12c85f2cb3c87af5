import { mkdir, mkdtempDisposable, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Platform,
  ProviderAddress,
  packArchive,
  parseLockFile,
  VersionConstraints,
} from "@stackwright/provider-source";
import { createPublishedProviders } from "@stackwright/registry/terraform";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { type InstalledProvider, parseCliConfiguration } from "@stackwright/tfplugin/install";
import { expect, it, onTestFinished } from "vitest";
import type { RegistryAnswer, RegistryQuery } from "../domain/registry-query.ts";
import { startApi } from "../testing/start-api.ts";
import { providerStandings } from "../upstream/provider-standing.ts";
import { readRegistry } from "../worker/read-registry.ts";
import { openJobEngine } from "./job-engine.ts";
import { installOwnProviders, isOwnProvider } from "./own-providers.ts";
import { requireUsableProviders } from "./require-usable-providers.ts";

const HOST = "stacks.example.com";
const SOURCE = `${HOST}/acme/notes`;
const PLATFORM = String(Platform.ofNode());

async function archiveOf(word: string): Promise<Uint8Array<ArrayBuffer>> {
  const content = Buffer.from(`#!/bin/sh\n# ${word}\n`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of packArchive([
    { path: "terraform-provider-notes", mode: 0o755, content },
  ])) {
    chunks.push(chunk);
  }
  return Uint8Array.from(Buffer.concat(chunks));
}

async function start() {
  const { server, call } = await startApi("none");
  const { registry } = server;
  const publishedProviders = createPublishedProviders({ registry, region: "local" });
  const storage = createMemoryStorage();
  onTestFinished(async () => storage[Symbol.asyncDispose]());
  const scratch = await mkdtempDisposable(join(tmpdir(), "own-providers-"));
  onTestFinished(() => scratch.remove());
  const answered: RegistryAnswer[] = [];
  const publish = async (version: string) => {
    const path = `/api/v1/registry/providers/acme/notes/${version}/${PLATFORM}`;
    const { status } = await call("PUT", path, {
      body: await archiveOf(version),
      headers: { "content-type": "application/zip" },
    });
    expect(status).toBe(201);
  };
  const mirror = { address: () => undefined, quarantineOf: async () => undefined };
  const findStanding = providerStandings({
    published: publishedProviders,
    mirror,
    namespaces: new Map(),
    ownHosts: () => [HOST],
    mirrorHosts: [],
  });
  const install = async ({
    account = "default",
    source = SOURCE,
    constraints = "",
    lock = "",
    operator = "",
    change = (answer) => answer,
  }: {
    readonly account?: string;
    readonly source?: string;
    readonly constraints?: string;
    readonly lock?: string;
    readonly operator?: string;
    readonly change?: (answer: RegistryAnswer) => RegistryAnswer;
  } = {}) => {
    const stack = { account, project: "web", stack: "one" };
    const found = await installOwnProviders({
      job: { ownHosts: [HOST, "localterraform.com"], providersFolder: scratch.path, stack },
      host: {
        readRegistry: async (query: RegistryQuery) => {
          const answer = await readRegistry(
            { storage, publishedProviders, findStanding },
            stack,
            query,
          );
          answered.push(answer);
          return change(answer);
        },
      },
      blobs: registry.blobs,
      requirements: [
        {
          address: ProviderAddress.parse(source),
          constraints:
            constraints === "" ? VersionConstraints.any : VersionConstraints.parse(constraints),
        },
      ],
      lock: parseLockFile(lock).locks,
      configuration: parseCliConfiguration(operator, "rc", { env: {} }),
      directory: scratch.path,
      env: { HOME: scratch.path },
      signal: AbortSignal.timeout(30_000),
    });
    return found.get(source);
  };
  const isUsable = async (provider: InstalledProvider | undefined, account = "default") => {
    const stack = { account, project: "web", stack: "one" };
    const readFrom = async (query: RegistryQuery) =>
      readRegistry({ storage, findStanding }, stack, query);
    const { signal } = new AbortController();
    await requireUsableProviders(provider ? [provider] : [], { readRegistry: readFrom }, signal);
  };
  /** The engine of a step whose configuration requires the provider. */
  const openEngine = async (account = "default") => {
    const stack = { account, project: "web", stack: "one" };
    const requirements = new Map([[SOURCE, { constraints: VersionConstraints.any }]]);
    const job = {
      ownHosts: [HOST],
      providersFolder: scratch.path,
      stack,
      environment: {},
      configuration: {},
    };
    const readFrom = async (query: RegistryQuery) =>
      readRegistry({ storage, publishedProviders, findStanding }, stack, query);
    const parts = {
      host: { readRegistry: readFrom },
      privateProviders: { handles: () => false },
      configuration: { resolution: { requirements } },
      directory: scratch.path,
      state: { read: async () => ({ objects: new Map() }) },
      signal: AbortSignal.timeout(30_000),
    };
    return openJobEngine(
      job as unknown as Parameters<typeof openJobEngine>[0],
      { storage, blobs: registry.blobs, env: { HOME: scratch.path } },
      parts as unknown as Parameters<typeof openJobEngine>[2],
    );
  };
  const claim = await call("PUT", "/api/v1/registry/namespaces/acme", { body: {} });
  expect(claim.status).toBeLessThan(300);
  return { call, publish, install, isUsable, openEngine, answered, directory: scratch.path };
}

const locked = (hash: string): string =>
  `provider "${SOURCE}" {\n  version = "1.0.0"\n  hashes = [\n    "${hash}",\n  ]\n}\n`;

it("installs what the registry of the account has, by its signature and the lock file", {
  timeout: 60_000,
}, async () => {
  const { publish, install } = await start();
  await publish("1.0.0");
  await publish("1.1.0");
  const newest = await install();
  expect([String(newest?.version), newest?.authentication?.kind]).toEqual(["1.1.0", "signed"]);
  expect(await readFile(newest?.executable ?? "", "utf8")).toContain("# 1.1.0");
  const first = await install({ constraints: "~> 1.0.0" });
  expect(String(first?.version)).toBe("1.0.0");
  const hash = String(first?.digest);
  const again = await install({ lock: locked(hash) });
  expect([String(again?.version), again?.origin]).toEqual(["1.0.0", "present"]);
  expect(String((await install({ source: "localterraform.com/acme/notes" }))?.version)).toBe(
    "1.1.0",
  );
  await expect(install({ lock: locked(`h1:${"A".repeat(43)}=`) })).rejects.toMatchObject({
    code: "TFPLUGIN_CHECKSUM_MISMATCH",
  });
  await expect(install({ constraints: "~> 2.0" })).rejects.toMatchObject({
    code: "TFPLUGIN_VERSION_UNAVAILABLE",
  });
});

it("has no private provider of another account, not even one that lies there", {
  timeout: 60_000,
}, async () => {
  const { call, publish, install } = await start();
  await publish("1.0.0");
  const lock = locked(String((await install())?.digest));
  const why = async (source: string, given = "") => {
    const error: unknown = await install({ account: "other", source, lock: given }).catch(
      (thrown: unknown) => thrown,
    );
    return error as { readonly code: string; readonly message: string };
  };
  const absent = await why(`${HOST}/acme/nothing`);
  const hidden = await why(SOURCE);
  expect(absent.code).toBe("TFPLUGIN_PROVIDER_UNKNOWN");
  expect(hidden).toMatchObject({
    code: "TFPLUGIN_PROVIDER_UNKNOWN",
    message: absent.message.replace("nothing", "notes"),
  });
  expect((await why(SOURCE, lock)).code).toBe("TFPLUGIN_PLATFORM_UNAVAILABLE");
  await call("PUT", "/api/v1/registry/namespaces/acme", { body: { public: true } });
  expect(String((await install({ account: "other" }))?.version)).toBe("1.0.0");
});

it("refuses a package that is not what the registry signed", { timeout: 60_000 }, async () => {
  const { publish, install, answered } = await start();
  await publish("1.0.0");
  await install();
  const signed = answered.find((answer) => answer.package !== undefined)?.package;
  if (signed === undefined) throw new Error("no package was asked for");
  const changed = (part: Partial<typeof signed>) => ({
    change: (answer: RegistryAnswer): RegistryAnswer =>
      answer.package === undefined ? answer : { ...answer, package: { ...signed, ...part } },
  });
  await publish("1.0.1");
  const next = answered.length;
  await install();
  const other = answered.slice(next).find((answer) => answer.package !== undefined)?.package;
  await expect(
    install(changed({ archiveSha256: other?.archiveSha256 ?? "" })),
  ).rejects.toMatchObject({ code: "TFPLUGIN_CHECKSUM_MISMATCH" });
  await expect(install(changed({ checksums: other?.checksums ?? "" }))).rejects.toMatchObject({
    code: "TFPLUGIN_SIGNATURE_INVALID",
  });
  // Of a later release than this one knows.
  await expect(install(changed({ protocols: ["7.0"] }))).rejects.toMatchObject({
    code: "TFPLUGIN_PROTOCOL_UNSUPPORTED",
  });
});

it("a version that lies installed with its hash is refused from its withdrawal until it is back", {
  timeout: 60_000,
}, async () => {
  const { call, publish, install, isUsable, openEngine, directory } = await start();
  await publish("1.0.0");
  const lock = locked(String((await install())?.digest));
  const before = Date.now();
  const gone = await call("DELETE", "/api/v1/registry/providers/acme/notes/1.0.0");
  expect(gone.status).toBe(204);
  const present = await install({ lock });
  expect(present?.origin).toBe("present");
  const error = (await isUsable(present).catch((thrown: unknown) => thrown)) as Error;
  expect(error).toMatchObject({ code: "ENGINE_PROVIDER_UNAVAILABLE" });
  const [, since = ""] =
    /^provider stacks.example.com\/acme\/notes 1.0.0 is withdrawn from the registry since (\S+);/.exec(
      error.message,
    ) ?? [];
  expect(Date.parse(since)).toBeGreaterThanOrEqual(before);
  // A step of a run ends there: nothing of it comes to the start of a provider.
  await writeFile(join(directory, ".terraform.lock.hcl"), lock);
  await expect(openEngine()).rejects.toMatchObject({ code: "ENGINE_PROVIDER_UNAVAILABLE" });
  await publish("1.0.0");
  await isUsable(await install({ lock }));
});

it("a locked version that was withdrawn before it was installed is said to be that", {
  timeout: 60_000,
}, async () => {
  const { call, publish, install, directory } = await start();
  await publish("1.0.0");
  const lock = locked(String((await install())?.digest));
  expect((await call("DELETE", "/api/v1/registry/providers/acme/notes/1.0.0")).status).toBe(204);
  await rm(join(directory, "accounts"), { recursive: true });
  await expect(install({ lock })).rejects.toMatchObject({
    code: "ENGINE_PROVIDER_UNAVAILABLE",
    message: expect.stringMatching(
      /^provider stacks.example.com\/acme\/notes 1.0.0 is withdrawn from the registry since .+; require another version/,
    ),
  });
  // To another account the version does not exist.
  await expect(install({ account: "other", lock })).rejects.toMatchObject({
    code: "TFPLUGIN_PLATFORM_UNAVAILABLE",
  });
});

it("a provider of another account that lies installed is refused while its namespace is private", {
  timeout: 60_000,
}, async () => {
  const { call, publish, install, isUsable, openEngine, directory } = await start();
  const show = async (isPublic: boolean) => {
    const path = "/api/v1/registry/namespaces/acme";
    expect((await call("PUT", path, { body: { public: isPublic } })).status).toBe(200);
  };
  await publish("1.0.0");
  await show(true);
  const lock = locked(String((await install({ account: "other" }))?.digest));
  const installed = async (account: string) => install({ account, lock });
  await isUsable(await installed("other"), "other");
  await show(false);
  const present = await installed("other");
  expect(present?.origin).toBe("present");
  await expect(isUsable(present, "other")).rejects.toMatchObject({
    code: "ENGINE_PROVIDER_UNAVAILABLE",
    message: expect.stringContaining(
      `provider ${SOURCE} 1.0.0 is not available to this account: its namespace is a private one of another account`,
    ),
  });
  // A step of a run ends there: nothing of it comes to the start of a provider.
  await writeFile(join(directory, ".terraform.lock.hcl"), lock);
  await expect(openEngine("other")).rejects.toMatchObject({ code: "ENGINE_PROVIDER_UNAVAILABLE" });
  await isUsable(await installed("default"));
  await show(true);
  await isUsable(await installed("other"), "other");
});

it("takes none of the files of a configuration where the operator says what providers come from", {
  timeout: 60_000,
}, async () => {
  const { publish, install, directory } = await start();
  await publish("1.0.0");
  const folder = join(directory, "terraform.d/plugins", SOURCE, "9.0.0", PLATFORM);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "terraform-provider-notes"), "#!/bin/sh\n", { mode: 0o755 });
  expect(String((await install())?.version)).toBe("9.0.0");
  const operator =
    'provider_installation {\nnetwork_mirror {\nurl = "https://mirror.example.com/"\n}\n}\n';
  const found = await install({ operator });
  expect([String(found?.version), found?.authentication?.kind]).toEqual(["1.0.0", "signed"]);
});

it("leaves to the configuration of the operator what that names", () => {
  const isOwn = (text: string, source = SOURCE) => {
    const configuration = parseCliConfiguration(text, "rc", { env: {} });
    return isOwnProvider(ProviderAddress.parse(source), { ownHosts: [HOST] }, configuration);
  };
  const installation = (text: string) => `provider_installation {\n${text}\n}\n`;
  const mirror = (scope: string) =>
    installation(`network_mirror {\nurl = "https://mirror.example.com/"\n${scope}\n}`);
  expect(isOwn("")).toBe(true);
  expect(isOwn("", "registry.example.com/acme/notes")).toBe(false);
  expect(isOwn(mirror(""))).toBe(true);
  expect(isOwn(mirror('include = ["*/*/*"]'))).toBe(true);
  expect(isOwn(mirror(`include = ["${HOST}/acme/*"]`))).toBe(false);
  expect(isOwn(mirror(`include = ["${HOST}/other/*"]`))).toBe(true);
  expect(isOwn(installation(`direct {\nexclude = ["${HOST}/*/*"]\n}`))).toBe(false);
  expect(isOwn(installation('direct {\nexclude = ["*/*/*"]\n}'))).toBe(true);
  expect(isOwn(installation(`dev_overrides {\n"${SOURCE}" = "/x"\n}`))).toBe(false);
});
