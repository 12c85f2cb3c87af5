import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveFunctions } from "@stackwright/fg-bridge/runtime";
import type { FunctionProbe } from "@stackwright/registry";
import { describe, expect, it } from "vitest";
import { loadFunctionTargets } from "./function-targets.ts";
import { openServerFunctions } from "./server-functions.ts";

const PROJECT = "a61dfe3154de42829367056598d5040f";
const URN = `urn:fss:local:${PROJECT}:function:default:notes:latest`;
const row = { url: "http://127.0.0.1:8000" };

interface Given {
  readonly table: unknown;
  readonly env?: NodeJS.ProcessEnv;
  readonly files?: Readonly<Record<string, string>>;
}

async function withTable<Result>(
  { table, files = {} }: Given,
  use: (path: string) => Promise<Result>,
): Promise<Result> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "table-"));
  const path = join(scratch.path, "table.json");
  await writeFile(path, typeof table === "string" ? table : JSON.stringify(table));
  for (const [name, text] of Object.entries(files)) await writeFile(join(scratch.path, name), text);
  return await use(path);
}

const open = (given: Given) =>
  withTable(given, async (path) => {
    await using opened = await loadFunctionTargets(path, given.env ?? {});
    return opened.targets.resolve(URN, { projects: [PROJECT] });
  });

describe("a table of functions", () => {
  it("leads from a URN to a function of one's own, or to the platform of its region", async () => {
    const own = await open({ table: { projects: [PROJECT], functions: { [URN]: row } } });
    expect(own.key).toBe("http://127.0.0.1:8000");
    const regions = { local: { endpoint: "http://127.0.0.1:9000" } };
    const env = { STACKWRIGHT_ACCESS_KEY: "a", STACKWRIGHT_SECRET_KEY: "s" };
    const hosted = await open({ table: { projects: [PROJECT], regions }, env });
    expect(hosted.key).toBe(URN);
  });

  it("takes credentials from variables and files, and holds none itself", async () => {
    const table = (credentials: object) => ({
      projects: [PROJECT],
      functions: { [URN]: { ...row, credentials } },
    });
    await open({ table: table({ bearerTokenVariable: "T" }), env: { T: "token" } });
    await open({
      table: table({ accessKeyVariable: "A", secretKeyVariable: "S" }),
      env: { A: "a", S: "s" },
    });
    await open({
      table: table({ file: "key.json" }),
      files: { "key.json": '{"accessKey":"a","secretKey":"s"}' },
    });
    await open({
      table: table({ file: "key.json" }),
      files: { "key.json": '{"bearerToken":"t"}' },
    });
  });

  it.each<[string, Given, string]>([
    ["no JSON", { table: "{" }, "JSON"],
    ["no projects", { table: {} }, "projects"],
    [
      "a member with a typing error",
      { table: { projects: [], function: {} } },
      "function is not a known member",
    ],
    [
      "a function without an address",
      { table: { projects: [], functions: { [URN]: {} } } },
      "functions",
    ],
    ["no URN", { table: { projects: [], functions: { x: row } } }, "URN"],
    ["no network", { table: { projects: [], networks: ["home"] } }, '"home" is not a network'],
    [
      "a variable that is not set",
      {
        table: {
          projects: [],
          functions: { [URN]: { ...row, credentials: { bearerTokenVariable: "T" } } },
        },
      },
      "the variable T is not set",
    ],
    [
      "a platform without a key",
      { table: { projects: [], regions: { local: { endpoint: "http://127.0.0.1:1" } } } },
      "STACKWRIGHT_ACCESS_KEY",
    ],
    [
      "a file that is not there",
      {
        table: {
          projects: [],
          functions: { [URN]: { ...row, credentials: { file: "key.json" } } },
        },
      },
      "does not exist",
    ],
    [
      "a bearer token for a platform",
      {
        table: {
          projects: [],
          regions: {
            local: { endpoint: "http://127.0.0.1:1", credentials: { file: "key.json" } },
          },
        },
        files: { "key.json": '{"bearerToken":"t0ken"}' },
      },
      "not with a bearer token",
    ],
  ])("with %s is refused, and the reason is said", async (_name, given, reason) => {
    const error: unknown = await open(given).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "ENGINE_CONFIG_INVALID",
      message: expect.stringContaining(reason),
    });
    expect(String(error)).not.toContain("t0ken");
  });

  it("says nothing of what is in a file of credentials", async () => {
    const table = {
      projects: [],
      functions: { [URN]: { ...row, credentials: { file: "key.json" } } },
    };
    const files = { "key.json": '{"secretKey": s3cret}' };
    await expect(open({ table, files })).rejects.toThrow(/^(?!.*s3cret).*is not valid JSON/s);
  });

  it("does not show users of a server where its credentials are", async () => {
    await using platform = await serveFunctions({
      functions: [],
      accounts: [{ accessKey: "AK", secretKey: "secret", projects: [PROJECT] }],
      port: 0,
    });
    const table = {
      projects: [PROJECT],
      regions: { local: { endpoint: platform.url, credentials: { file: "key.json" } } },
      networks: ["127.0.0.0/8"],
    };
    const files = { "key.json": '{"accessKey":"AK","secretKey":"wrong"}' };
    await withTable({ table, files }, async (path) => {
      await using functions = await openServerFunctions(path, { env: {}, region: "local" });
      const version = { functionUrn: URN, account: "acme" } as Parameters<
        FunctionProbe["probe"]
      >[0];
      const probed = functions.probe.probe(version, { signal: new AbortController().signal });
      await expect(probed).rejects.toThrow(
        /is not accepted; it was called with the credentials of region local in the server's table of functions$/,
      );
    });
  });

  it("shows users of a server how a function fails, and its log where", async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => {
      closed.listen(0, "127.0.0.1", resolve);
    });
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => {
      closed.close(resolve);
    });
    const networks: Record<string, readonly string[]> = {
      FG_UNREACHABLE: ["127.0.0.0/8"],
      FG_ADDRESS_REFUSED: [],
    };
    for (const [code, allowed] of Object.entries(networks)) {
      const functions = { [URN]: { url: `http://127.0.0.1:${port}` } };
      await withTable(
        { table: { projects: [PROJECT], functions, networks: allowed } },
        async (path) => {
          const logged: object[] = [];
          const note = (entry: object) => void logged.push(entry);
          const logger = { debug: note, info: note, warn: note, error: note };
          await using opened = await openServerFunctions(path, {
            env: {},
            region: "local",
            logger,
          });
          const version = { functionUrn: URN, account: "acme", region: "local" };
          const { signal } = new AbortController();
          const failed = await opened.probe
            .probe(version, { signal })
            .catch((thrown: unknown) => thrown);
          expect(String(failed)).toContain(code);
          expect(String(failed)).not.toMatch(/127\.0\.0\.1|localhost/);
          expect(logged).toMatchObject([{ function: URN, err: { code } }]);
          expect(String((logged[0] as { readonly err: unknown }).err)).toContain("127.0.0.1");
        },
      );
    }
  });

  it("is for one region", async () => {
    await withTable({ table: { region: "cn-north-7", projects: [] } }, async (path) => {
      await expect(openServerFunctions(path, { env: {}, region: "local" })).rejects.toMatchObject({
        code: "ENGINE_CONFIG_INVALID",
        message: expect.stringContaining("cn-north-7"),
      });
    });
  });
});
