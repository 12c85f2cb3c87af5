import { buffer } from "node:stream/consumers";
import { packArchive } from "@stackwright/provider-source";
import { expect, it } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

const VERSIONS = "/terraform/v1/providers/acme/notes/versions";

/** A server with the versions 1.0.0 and 1.1.0 of `acme/notes`. */
async function start() {
  const { server, token } = await startServer("none");
  const call = async (
    method: string,
    path: string,
    body?: Uint8Array<ArrayBuffer> | string,
    type = "application/json",
  ) =>
    fetch(server.url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        "client-request-id": "0d7d6d0c-6c1b-4d6e-9f70-1a2b3c4d5e6f",
        ...(body !== undefined && { "content-type": type }),
      },
      ...(body !== undefined && { body }),
    });
  const claim = JSON.stringify({ public: true });
  expect((await call("PUT", "/api/v1/registry/namespaces/acme", claim)).status).toBe(200);
  const publish = async (version: string) => {
    const content = Buffer.from(`#!/bin/sh\n# ${version}\n`);
    const entry = { path: `terraform-provider-notes_v${version}`, mode: 0o755, content };
    const body = Uint8Array.from(await buffer(packArchive([entry])));
    const path = `/api/v1/registry/providers/acme/notes/${version}/linux_amd64`;
    return (await call("PUT", path, body, "application/zip")).status;
  };
  expect([await publish("1.0.0"), await publish("1.1.0")]).toEqual([201, 201]);
  const offered = async () =>
    (await (await call("GET", VERSIONS)).json()) as {
      readonly versions: readonly { readonly version: string }[];
      readonly warnings: readonly string[] | null;
    };
  const provider = async (...words: string[]) =>
    tryCommand(["provider", ...words], {
      env: { STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token },
    });
  return { call, publish, offered, provider };
}

it("withdraws a version, whose archives alone bring it back", async () => {
  const { call, publish, offered, provider } = await start();
  const done = await provider("withdraw", "acme/notes", "1.1.0");
  expect([done.code, done.output]).toEqual([
    0,
    expect.stringContaining("Withdrew acme/notes 1.1.0"),
  ]);
  expect((await offered()).versions.map(({ version }) => version)).toEqual(["1.0.0"]);
  const path = "/terraform/v1/providers/acme/notes/1.1.0/download/linux/amd64";
  expect((await call("GET", path)).status).toBe(410);
  const again = await provider("withdraw", "acme/notes", "1.1.0");
  expect(again.code).toBe(1);
  expect(again.error).toContain("acme/notes 1.1.0 was not withdrawn");
  expect(again.error).toContain("one that was withdrawn before");
  expect(await publish("1.1.0")).toBe(201);
});

it("deprecates a version with a reason, until that is ended", async () => {
  const { offered, provider } = await start();
  const deprecate = async (...words: string[]) => provider("deprecate", "acme/notes", ...words);
  expect((await deprecate("1.0.0", "--reason", "take 1.1.0")).output).toBe(
    "Deprecated acme/notes 1.0.0\n",
  );
  expect((await offered()).warnings).toEqual(["1.0.0: take 1.1.0"]);
  expect((await deprecate("1.0.0", "--clear")).output).toContain("No longer deprecated");
  expect((await offered()).warnings).toBeNull();
  expect((await deprecate("1.0.0")).error).toContain("Say why with --reason");
  expect((await deprecate("1.0.0", "--clear", "--reason", "x")).error).toContain("Say why");
  expect((await deprecate("7.0.0", "--reason", "x")).error).toContain("was not changed");
});

it("deletes a version of a private provider, and says which command is for which", async () => {
  const { call, provider } = await start();
  const made = await call(
    "POST",
    "/v1/private-providers",
    JSON.stringify({
      provider_name: "notes",
      provider_version: "1.0.0",
      function_graph_urn:
        "urn:fss:local:a61dfe3154de42829367056598d5040f:function:default:notes:latest",
    }),
  );
  expect(made.status).toBe(201);
  const source = "huawei.com/private-provider/notes";
  expect((await provider("withdraw", source, "1.0.0")).error).toContain("provider delete");
  expect((await provider("withdraw", "example.com/acme/notes", "1.0.0")).error).toContain(
    "without a host",
  );
  expect((await provider("delete", "acme/notes", "1.0.0")).error).toContain("provider withdraw");
  expect((await provider("delete", source, "1.0.0")).output).toBe(`Deleted ${source} 1.0.0\n`);
  expect((await provider("delete", "notes", "1.0.0")).error).toContain("was not deleted");
});
