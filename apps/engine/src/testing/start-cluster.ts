import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { request } from "node:https";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import type { ClusterSend } from "./played-kubelet.ts";

/** A real API server. Disposing ends it. */
interface TestCluster extends AsyncDisposable {
  /** As one who may do everything. */
  readonly send: ClusterSend;
  /** A configuration of kubectl for the holder of a token. */
  readonly configOf: (token: string) => Promise<string>;
}

/** Starts an API server of Kubernetes with its etcd, or says why there is none. */
export async function startCluster(env: NodeJS.ProcessEnv): Promise<TestCluster | string> {
  const { TEST_SERVERS_MAIN: main, TEST_TOOL_KUBE_APISERVER: bin } = env;
  if (main === undefined || bin === undefined) {
    return "TEST_TOOL_KUBE_APISERVER names no API server: node tools/ci/src/main.ts --only kubernetes builds one";
  }
  const child = spawn(process.execPath, [main, "serve", "kubernetes"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await Promise.race([lines.next(), exited]);
  if (first === undefined || first.done === true) throw new Error("the API server did not start");
  const { url, token, config } = JSON.parse(first.value) as Record<
    "url" | "token" | "config",
    string
  >;
  const kubectl = JSON.parse(await readFile(config, "utf8")) as {
    readonly clusters: readonly { readonly cluster: Record<string, string> }[];
  };
  const [{ cluster } = { cluster: {} as Record<string, string> }] = kubectl.clusters;
  const ca = Buffer.from(cluster["certificate-authority-data"] ?? "", "base64");
  return {
    send: async (method, path, body) =>
      new Promise((resolve, reject) => {
        const isPatch = method === "PATCH";
        const content = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
        const headers = {
          Authorization: `Bearer ${token}`,
          "Content-Type": isPatch ? "application/merge-patch+json" : "application/json",
          // Node says it of a DELETE only when it is told to; without it the options of a deletion are no part of the request.
          ...(content !== undefined && { "Content-Length": content.length }),
        };
        const sent = request(`${url}${path}`, { method, ca, headers }, (response) => {
          text(response).then(
            (said) => resolve({ status: response.statusCode ?? 0, text: said }),
            reject,
          );
        });
        sent.once("error", reject);
        sent.end(content);
      }),
    configOf: async (of) =>
      Promise.resolve(
        JSON.stringify({ ...kubectl, users: [{ name: "admin", user: { token: of } }] }),
      ),
    [Symbol.asyncDispose]: async () => {
      child.stdin.end("stop\n");
      await exited;
    },
  };
}
