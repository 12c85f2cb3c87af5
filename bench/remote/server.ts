import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, request, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";

const MAIN = join(import.meta.dirname, "../../apps/engine/src/main.ts");

/** A server in a process of its own, and a certificate that commands trust. Disposing ends it. */
export interface RemoteServer extends AsyncDisposable {
  readonly folder: string;
  /** Name and port. */
  readonly host: string;
  readonly token: string;
  readonly certificateFile: string;
  readonly keyFile: string;
}

export async function startServer(): Promise<RemoteServer> {
  const folder = await mkdtemp(join(tmpdir(), "bench-remote-"));
  const [certificateFile, keyFile] = [join(folder, "tls.pem"), join(folder, "tls.key")];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const files = ["-keyout", keyFile, "-out", certificateFile];
  execFileSync("openssl", ["req", "-x509", "-days", "2", ...key, ...names, ...files], {
    stdio: "ignore",
  });
  const given = `serve --store sqlite:data --host localhost --port 0 --bootstrap-file first.json --tls-certificate ${certificateFile} --tls-key ${keyFile} --provisioner-project default/default`;
  const child = spawn(process.execPath, [MAIN, ...given.split(" ")], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await addressOf(child);
  const first = JSON.parse(await readFile(join(folder, "first.json"), "utf8")) as {
    readonly token: string;
  };
  return {
    folder,
    host: new URL(url).host,
    token: first.token,
    certificateFile,
    keyFile,
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

async function addressOf(child: ChildProcess): Promise<string> {
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    const found = /"url":"([^"]+)"/.exec(text)?.[1];
    if (found === undefined) continue;
    child.stdout?.resume();
    return found;
  }
  throw new Error(`the server did not start: ${text}`);
}

/** A server that writes each body into one file, durably, and sends that. */
export async function startFileServer({
  folder,
  certificateFile,
  keyFile,
}: RemoteServer): Promise<AsyncDisposable & { readonly host: string }> {
  const file = join(folder, "bare");
  const tls = { cert: await readFile(certificateFile), key: await readFile(keyFile) };
  const server: Server = createServer(tls, (asked, answer) => {
    const done =
      asked.method === "POST"
        ? pipeline(asked, createWriteStream(file, { flush: true })).then(() => answer.end())
        : pipeline(createReadStream(file), answer);
    done.catch((error: unknown) => answer.destroy(error as Error));
  });
  await once(server.listen(0, "localhost"), "listening");
  return {
    host: `localhost:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}

/** Sends one request; the body of the answer is read to its end. */
export async function send(
  { host, token, ca }: { readonly host: string; readonly token: string; readonly ca: Buffer },
  method: string,
  path: string,
  body?: string | Buffer,
): Promise<{ readonly bytes: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { "content-length": Buffer.byteLength(body) }),
    };
    const sent = request(`https://${host}${path}`, { method, ca, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.once("end", () => {
        const all = Buffer.concat(chunks);
        const text = all.byteLength < 10_000_000 ? all.toString("utf8") : "";
        if ((answer.statusCode ?? 500) < 300) resolve({ bytes: all.byteLength, text });
        else reject(new Error(`${method} ${path}: ${answer.statusCode} ${text}`));
      });
      answer.once("error", reject);
    });
    sent.once("error", reject);
    sent.end(body);
  });
}
