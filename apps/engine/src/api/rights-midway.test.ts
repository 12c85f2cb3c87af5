import { request as httpRequest } from "node:http";
import { gzipSync } from "node:zlib";
import { readStored } from "@stackwright/storage";
import { expect, it } from "vitest";
import { bindingPlace } from "../access/access-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { P, S, startApi } from "../testing/start-api.ts";
import { tarOf } from "../testing/tar-of.ts";

// Rights that are taken away while a request is under way: between its head and the last byte of its body.

/** A user who administers the account, and requests of the user that stop before the end of their body. */
async function start() {
  const api = await startApi("none");
  const { call, server } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  expect((await call("POST", "/api/v1/users", { body: { name: "lea" } })).status).toBe(201);
  const give = async (role: string) => call("PUT", "/api/v1/roles/user/lea", { body: { role } });
  expect((await give("admin")).status).toBeLessThan(300);
  await call("POST", "/api/v1/users", { body: { name: "deputy" } });
  await call("PUT", "/api/v1/roles/user/deputy", { body: { role: "admin" } });
  const { token, tokenId } = await server.credentials.createToken({
    account: "default",
    user: "lea",
    roles: ["admin"],
  });
  /** Sends a request up to the middle of its body; the rest follows, and then comes the answer. */
  const begin = async (method: string, path: string, body: Uint8Array, type: string) => {
    const sent = httpRequest(`${server.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": type,
        "content-length": body.byteLength,
        expect: "100-continue",
      },
    });
    const answered = new Promise<number>((resolve, reject) => {
      sent.once("response", (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      sent.once("error", reject);
    });
    // The server says so when it has the head.
    await new Promise<void>((resolve) => {
      sent.once("continue", resolve);
      sent.flushHeaders();
    });
    const middle = Math.floor(body.byteLength / 2);
    sent.write(body.subarray(0, middle));
    return async (): Promise<number> => {
      sent.end(body.subarray(middle));
      return answered;
    };
  };
  const beginJson = async (method: string, path: string, body: object) =>
    begin(method, path, Buffer.from(JSON.stringify(body)), "application/json");
  /** Takes the role away as another server of the store does: nothing that this one keeps is forgotten. */
  const takeElsewhere = async (): Promise<void> => {
    const { storage } = server.credentials.records;
    const at = { account: "default", kind: "user", subject: "lea" } as const;
    const id = idOf(SERVER_KINDS.roleBinding, bindingPlace(at));
    const stored = await readStored(storage, "strong", id);
    await storage.batch([{ kind: "delete", id: stored?.id ?? id, version: stored?.version ?? "" }]);
  };
  return { ...api, give, begin, beginJson, takeElsewhere, token, tokenId };
}

it("a change is refused whose caller lost the role before the end of the body", async () => {
  const { call, give, beginJson } = await start();
  const ends = [
    await beginJson("POST", "/api/v1/users", { name: "eve" }),
    await beginJson("PUT", "/api/v1/roles/user/lea", { role: "admin" }),
    await beginJson("POST", "/api/v1/tokens", { role: "admin", user: "lea" }),
    await beginJson("PUT", `${S}/variables/terraform/word`, { value: "x" }),
  ];
  await give("viewer");
  const answers: number[] = [];
  for (const end of ends) answers.push(await end());
  // Whoever has a role may have tokens, with which no more can be done.
  expect(answers).toEqual([403, 403, 201, 403]);
  const names = (await call("GET", "/api/v1/users")).json["users"] as { name: string }[];
  expect(names.map(({ name }) => name)).toEqual(["deputy", "lea"]);
  expect((await call("GET", "/api/v1/roles")).json["roles"]).toMatchObject([
    { subject: "deputy", role: "admin" },
    { subject: "lea", role: "viewer" },
  ]);
});

it("a change is refused whose token was revoked before the end of the body", async () => {
  const { call, server, beginJson, tokenId } = await start();
  const end = await beginJson("POST", "/api/v1/users", { name: "eve" });
  await server.credentials.revoke(tokenId);
  expect(await end()).toBe(401);
  expect((await call("GET", "/api/v1/users")).text).not.toContain("eve");
});

it("an upload is refused whose caller lost the role before its end", async () => {
  const { call, give, begin } = await start();
  const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": "" })));
  const end = await begin("POST", `${S}/configurations`, archive, "application/gzip");
  await give("viewer");
  expect(await end()).toBe(403);
  expect((await call("POST", `${S}/runs`, { body: {} })).status).toBeGreaterThanOrEqual(400);
});

it("changes of administrators are judged by what is stored, and not by what a server has kept of it", async () => {
  const { call, takeElsewhere, token } = await start();
  expect((await call("POST", "/api/v1/users", { body: { name: "one" }, token })).status).toBe(201);
  // What is read of the account is kept for a second.
  expect((await call("GET", "/api/v1/caller", { token })).status).toBe(200);
  await takeElsewhere();
  const refused = await call("POST", "/api/v1/users", { body: { name: "two" }, token });
  expect([refused.status, refused.json["code"]]).toEqual([403, "forbidden"]);
});

it("a state of the http backend is refused whose token was revoked before its end, and a lock of it", async () => {
  const { server, begin, tokenId, call } = await start();
  const address = "/state/v1/default/web/one";
  const head = { version: 4, terraform_version: "1.11.4", serial: 1, lineage: "l", outputs: {} };
  const state = Buffer.from(JSON.stringify({ ...head, resources: [], check_results: null }));
  const lock = Buffer.from(JSON.stringify({ ID: "a", Operation: "OperationTypeApply" }));
  const ends = [
    await begin("POST", address, state, "application/json"),
    await begin("LOCK", address, lock, "application/json"),
  ];
  await server.credentials.revoke(tokenId);
  for (const end of ends) expect(await end()).toBe(401);
  expect((await call("GET", address)).status).toBe(404);
  expect((await call("POST", address, { body: state })).status).toBe(200);
});

it("a change of a workspace is refused whose caller lost the role, or its token, before the end of the body", async () => {
  const { call, server, give, begin, tokenId } = await start();
  const all = "/api/v2/organizations/default/workspaces";
  const body = (name: string): Uint8Array =>
    Buffer.from(JSON.stringify({ data: { attributes: { name } } }));
  const type = "application/vnd.api+json";
  const demoted = await begin("POST", all, body("two"), type);
  const revoked = await begin("POST", all, body("three"), type);
  await give("operator");
  expect(await demoted()).toBe(403);
  await server.credentials.revoke(tokenId);
  expect(await revoked()).toBe(401);
  expect((await call("GET", all)).text).not.toMatch(/two|three/);
});

it("policies are judged by what is stored, and not by what a server has kept of their author", async () => {
  const { call, begin, takeElsewhere, token } = await start();
  const policies = "/api/v1/policy-sets";
  expect((await call("POST", policies, { body: { name: "rules" } })).status).toBe(201);
  const rego = Buffer.from('package stackwright\n\ndeny contains "no" if false\n');
  const end = await begin("PUT", `${policies}/rules/content`, rego, "text/plain");
  expect((await call("GET", "/api/v1/caller", { token })).status).toBe(200);
  await takeElsewhere();
  expect(await end()).toBe(403);
});
