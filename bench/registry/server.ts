import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@stackwright/engine";
import type { RequestContext } from "@stackwright/registry";
import { readStored } from "@stackwright/storage";

// The server under measurement, in a process of its own: `node server.ts <options as JSON>`. It fills
// the store, says on one line where it listens, and stops when its standard input ends.

interface ServerSetup {
  readonly store: string;
  readonly directory: string;
  readonly providers: number;
  /** A file that the bare static file server gives out. */
  readonly file: string | undefined;
}

const setup = JSON.parse(process.argv[2] ?? "{}") as ServerSetup;
const REGION = "cn-north-7";
const scope = { account: "default", region: REGION };
const context: RequestContext = { actor: "bench", requestId: "bench" };

const server = await serve(
  {
    store: setup.store,
    port: 0,
    region: REGION,
    logLevel: "error",
    keyVariable: "BENCH_KEY",
    bootstrapFile: `${setup.directory}/first.json`,
    quotas: { providers: 10_000_000, versionsPerProvider: 1000, archiveBytes: 2 ** 32 },
  },
  {
    directory: setup.directory,
    logs: process.stderr,
    plugins: ({ store }) => [
      {
        prefix: "/baseline",
        // What any answer from the store costs: a route, one linearizable read, a line of JSON.
        plugin: async (app) => {
          const type = { group: "stackwright", groupVersion: "v1", kind: "PrivateProvider" };
          const tenancy = { partition: "default", peerName: "local", namespace: REGION };
          app.get<{ Params: { name: string } }>("/:name", async (request, reply) => {
            const id = { uid: "", name: request.params.name, type, tenancy };
            const found = await readStored(store.storage, "strong", id);
            return reply.send({ size: found?.data?.value.byteLength ?? 0 });
          });
          app.get("/memory", async () => {
            globalThis.gc?.();
            return process.memoryUsage();
          });
        },
      },
    ],
  },
);

const started = performance.now();
for (let n = 0; n < setup.providers; n += 1) {
  await server.registry.createProvider(
    scope,
    { name: `seed-${n}`, description: "for measurement" },
    context,
  );
}
const seededMs = performance.now() - started;

const size = setup.file === undefined ? 0 : (await stat(setup.file)).size;
const files = createServer((request, response) => {
  response.writeHead(200, { "content-length": size, "content-type": "application/zip" });
  if (request.method === "HEAD") response.end();
  else createReadStream(setup.file ?? "").pipe(response);
}).listen(0, "127.0.0.1");
await new Promise((resolve) => files.once("listening", resolve));
const { port } = files.address() as AddressInfo;

console.log(JSON.stringify({ url: server.url, files: `http://127.0.0.1:${port}`, seededMs }));
process.stdin.on("end", () => {
  files.close();
  files.closeAllConnections();
  void server.close();
});
process.stdin.resume();
