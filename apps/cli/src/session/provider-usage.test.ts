import { randomUUID } from "node:crypto";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StackSnapshot } from "@stackwright/core";
import { createNotesProvider } from "@stackwright/core/testing";
import type { BootstrapCredentials } from "@stackwright/engine";
import { type RunningServer, serve } from "@stackwright/engine";
import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";
import { privateProviderUsage } from "./provider-usage.ts";

const REGION = "cn-north-7";
const PROJECT = "a61dfe3154de42829367056598d5040f";
const URN = `urn:fss:${REGION}:${PROJECT}:function:default:notes:latest`;
const SOURCE = "huawei.com/private-provider/notes";
const scope = { account: "default", region: REGION };

describe.each(["the registry of a server", "the registry in the store"])(
  "uses of private versions in %s",
  (where) => {
    let cleanup: AsyncDisposableStack;
    let cwd: string;
    let server: RunningServer;
    let first: BootstrapCredentials;
    let env: NodeJS.ProcessEnv;

    beforeEach(async () => {
      cleanup = new AsyncDisposableStack();
      cwd = cleanup.use(await mkdtempDisposable(join(tmpdir(), "uses-"))).path;
      await mkdir(join(cwd, "notes"));
      const create = () => createNotesProvider(join(cwd, "notes"));
      const runner = createLifecycleRunner({ name: "notes", create });
      const { url } = cleanup.use(await serveFunction({ runner, port: 0 }));
      server = cleanup.use(
        await serve(
          {
            store: "memory:",
            port: 0,
            storagePort: 0,
            region: REGION,
            logLevel: "silent",
            bootstrapFile: join(cwd, "first.json"),
          },
          { directory: cwd, env: {} },
        ),
      );
      first = JSON.parse(await readFile(join(cwd, "first.json"), "utf8")) as BootstrapCredentials;
      const table = {
        region: REGION,
        projects: [PROJECT],
        functions: { [URN]: { url } },
        networks: ["127.0.0.0/8"],
      };
      await writeFile(join(cwd, "functions.json"), JSON.stringify(table));
      env = {
        STACKWRIGHT_FUNCTIONS: "functions.json",
        ...(where === "the registry of a server"
          ? { STACKWRIGHT_REGISTRY: server.url, STACKWRIGHT_REGISTRY_CREDENTIALS: "first.json" }
          : { STACKWRIGHT_STORE: server.storageAddress, STACKWRIGHT_TOKEN: first.token }),
      };
      const api = "/v1/private-providers";
      await rfs("POST", api, { provider_name: "notes" });
      for (const version of ["1.0.0", "2.0.0", "3.0.0"]) {
        const body = { provider_version: version, function_graph_urn: URN };
        expect((await rfs("POST", `${api}/notes/versions`, body)).status).toBe(201);
      }
    });

    afterEach(async () => {
      await cleanup.disposeAsync();
    });

    const rfs = async (method: string, path: string, body?: object) =>
      fetch(server.url + path, {
        method,
        headers: {
          "x-auth-token": first.token,
          "client-request-id": randomUUID(),
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });

    /** What the server says when it is asked; the names of stacks without their ids. */
    const uses = async () => {
      const answer = await rfs("GET", "/api/v1/registry/private-providers/notes/uses");
      const found = (await answer.json()) as { uses: { version: string; user: string }[] };
      return found.uses.map(({ version, user }) => `${version} ${user.replace(/\/[^/]*$/, "")}`);
    };

    const deletion = async (version: string) => {
      const answer = await rfs("DELETE", `/v1/private-providers/notes/versions/${version}`);
      expect(answer.status).toBe(204);
      return answer.headers.get("x-rfs-warning");
    };

    const run = async (version: string, ...words: string[]) => {
      await writeFile(
        join(cwd, "main.tf"),
        `terraform {
         required_providers {
           notes = {
             source  = "${SOURCE}"
             version = "${version}"
           }
         }
       }
       resource "notes_note" "a" {
         name = "one"
         text = "hello"
       }\n`,
      );
      const ended = await tryCommand(words, { cwd, env });
      expect(ended).toMatchObject({ code: 0, error: "" });
    };

    it("are those of the last up, whatever is planned in between", async () => {
      await run("1.0.0", "up", "--yes");
      expect(await uses()).toEqual(["1.0.0 default/default"]);
      await run("2.0.0", "plan");
      expect(await uses()).toEqual(["1.0.0 default/default"]);
      await run("2.0.0", "up", "--yes");
      expect(await uses()).toEqual(["2.0.0 default/default"]);
      await run("1.0.0", "plan");
      expect(await uses()).toEqual(["2.0.0 default/default"]);

      expect(await deletion("1.0.0")).toBeNull();
      expect(await deletion("2.0.0")).toMatch(
        /^the version was deleted while it is in use by default\/default\/[0-9A-Z]+$/,
      );
      expect(await uses()).toEqual([]);

      await run("3.0.0", "up", "--yes");
      expect(await uses()).toEqual(["3.0.0 default/default"]);
      await run("3.0.0", "destroy", "--yes");
      expect(await uses()).toEqual([]);
      expect(await deletion("3.0.0")).toBeNull();
    });

    it("that a killed run left behind go with the next one", async () => {
      await run("2.0.0", "up", "--yes");
      const { providerId } = await server.registry.showProvider(scope, { name: "notes" });
      const [use] = await server.registry.listUsage(scope, providerId);
      const user = use?.user ?? "";
      const leave = async (version: string) =>
        server.registry.recordUsage(scope, { name: "notes", version }, user);
      await leave("1.0.0");
      await leave("3.0.0");
      await server.registry.recordUsage(
        scope,
        { name: "notes", version: "1.0.0" },
        "somebody/else",
      );
      await run("2.0.0", "up", "--yes");
      expect(await uses()).toEqual(["1.0.0 somebody", "2.0.0 default/default"]);

      await run("2.0.0", "destroy", "--yes");
      await leave("1.0.0");
      await run("2.0.0", "destroy", "--yes");
      expect(await uses()).toEqual(["1.0.0 somebody"]);
    });
  },
);

describe("what a stack uses", () => {
  const object = (mode: string, version: string, source = SOURCE) => ({
    mode,
    provider: { source, version },
  });
  const usesOf = (...objects: object[]) => [
    ...privateProviderUsage({
      objects: new Map(objects.map((one, index) => [String(index), one])),
    } as unknown as StackSnapshot),
  ];

  it("is what its objects belong to, and what it reads where nothing else is there", () => {
    expect(usesOf(object("managed", "2.0.0"), object("managed", "1.0.0"))).toEqual([
      `${SOURCE}@2.0.0`,
      `${SOURCE}@1.0.0`,
    ]);
    // Read with the old version, and not written down again, as it is the same.
    expect(usesOf(object("managed", "2.0.0"), object("data", "1.0.0"))).toEqual([
      `${SOURCE}@2.0.0`,
    ]);
    expect(usesOf(object("data", "1.0.0"))).toEqual([`${SOURCE}@1.0.0`]);
    expect(usesOf(object("managed", "1.0.0", "registry.terraform.io/hashicorp/null"))).toEqual([]);
  });
});
