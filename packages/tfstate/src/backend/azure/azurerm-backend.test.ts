import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { record } from "../../testing/real-root-module.ts";
import { BackendArguments } from "../backend-arguments.ts";
import { openBackend } from "../open-backend.ts";
import { azurermBackend } from "./azurerm-backend.ts";

it("ends a lease whose record could not be written, so that no lock is left that no command can end", async () => {
  let isLeased = false;
  const actions: string[] = [];
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? "", "http://localhost");
    const action = `${searchParams.get("comp") ?? request.method} ${String(request.headers["x-ms-lease-action"] ?? "")}`;
    actions.push(action.trim());
    request.resume();
    if (action.trim() === "metadata") {
      response.writeHead(403, { "x-ms-error-code": "AuthorizationPermissionMismatch" }).end();
      return;
    }
    if (action === "lease acquire") isLeased = true;
    if (action === "lease release") isLeased = false;
    const status = { "lease acquire": 201, "lease release": 200 }[action] ?? 200;
    response.writeHead(status, { "x-ms-lease-status": isLeased ? "locked" : "unlocked" }).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const values = {
    storage_account_name: "acme",
    container_name: "states",
    key: "app",
    access_key: Buffer.alloc(64).toString("base64"),
  };
  const env = {
    AZURE_STORAGE_CONNECTION_STRING: `BlobEndpoint=http://127.0.0.1:${port}/acme;AccountName=acme`,
  };
  const configuration = new BackendArguments("azurerm", values, env);
  await using backend = azurermBackend(configuration, { directory: "/", env });
  await expect(backend.lock("default", record())).rejects.toThrow("permission denied");
  expect(actions).toContain("lease acquire");
  expect(actions).toContain("lease release");
  expect(isLeased).toBe(false);
});

it.each([{ use_msi: true }, { use_cli: true }, {}])(
  "uses neither the identity of the machine nor the Azure CLI where it is isolated from them: %o",
  async (more) => {
    let requests = 0;
    const server = createServer((_request, response) => {
      requests += 1;
      response.end(JSON.stringify({ access_token: "of the machine", expires_in: 3600 }));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}`;
    const values = {
      storage_account_name: "acme",
      container_name: "states",
      key: "app",
      msi_endpoint: url,
      ...more,
    };
    const env = {
      PATH: "/nonexistent",
      AZURE_STORAGE_CONNECTION_STRING: `BlobEndpoint=${url}/acme;AccountName=acme`,
    };
    await using backend = await openBackend(
      { type: "azurerm", values },
      { directory: "/", env, isIsolated: true },
    );
    expect(backend.identity?.("default")).toContain("/states/app");
    await expect(backend.read("default")).rejects.toMatchObject({
      code: "TFSTATE_BACKEND_INVALID",
      message: expect.stringContaining("ARM_ACCESS_KEY"),
    });
    expect(requests).toBe(0);
  },
);
