import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { freePorts } from "@stackwright/base/free-ports";
import { onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { serve } from "../serve.ts";
import { PEER_CLIENT } from "./identity-peer.ts";

/** A server that signs users in with `issuer`, and what it logs; `others` are further providers, in which none signs in; with `trustProxy` it stands behind a proxy. */
export async function startSignInServer(
  issuerOf: (callback: string) => Promise<string>,
  settings: object = {},
  others: readonly object[] = [],
  trustProxy = false,
) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "sign-in-"));
  onTestFinished(() => scratch.remove());
  const [port = 0] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const issuer = await issuerOf(`${url}/auth/callback/peer`);
  const provider = {
    name: "peer",
    issuer,
    client_id: PEER_CLIENT.id,
    client_secret_variable: "PEER_SECRET",
    ...settings,
  };
  const further = others.map((one) => ({ client_id: "stackwright", ...one }));
  const file = join(scratch.path, "sign-in.json");
  await writeFile(file, JSON.stringify({ providers: [provider, ...further] }));
  let logged = "";
  const logs = new Writable({
    write(chunk, _encoding, done) {
      logged += String(chunk);
      done();
    },
  });
  const bootstrapFile = join(scratch.path, "first.json");
  const server = await serve(
    {
      store: "memory:",
      port,
      bootstrapFile,
      logLevel: "info",
      executor: "none",
      signInFile: file,
      trustProxy,
    },
    { directory: scratch.path, env: { PEER_SECRET: PEER_CLIENT.secret }, logs },
  );
  onTestFinished(() => server.close());
  const { token } = JSON.parse(await readFile(bootstrapFile, "utf8")) as BootstrapCredentials;
  const admin = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, json: (await answer.json().catch(() => ({}))) as never };
  };
  const { credentials } = server;
  return { url, token, admin, credentials, logged: () => logged };
}
