import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { record } from "../../testing/real-root-module.ts";
import { BackendArguments } from "../backend-arguments.ts";
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
