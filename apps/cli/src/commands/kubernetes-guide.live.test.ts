import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePorts } from "@stackwright/base/free-ports";
import { expect, it, onTestFinished } from "vitest";
import { pageBlocks } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";
import { type SpawnedCommand, spawnCommand } from "../testing/spawned-command.ts";

// The secrets of docs/kubernetes.md as a reader makes them, with a `kubectl` that stands for the cluster: what it is to execute in a pod of the
// server it executes here, what is applied and waited for it passes over, and secrets are kept as files.

const PAGE = "docs/kubernetes.md";

it("the page about Kubernetes leads to a secret with which a worker gets steps", {
  timeout: 300_000,
}, async (context) => {
  context.skip(spawnSync("openssl", ["version"]).status !== 0, "openssl cannot be run here");
  const { folder, shell } = await createPageFolder({ NO_COLOR: "1" });
  await writeFile(join(folder, "bin/kubectl"), kubectl(folder), { mode: 0o755 });
  const [port = 0] = await freePorts(1);
  const blocks = (await pageBlocks(PAGE, "sh")).map((block) =>
    block.replaceAll("7400", String(port)),
  );
  const [secrets = "", bootstrap = "", forward = "", token = ""] = blocks;
  expect([secrets, bootstrap, forward, token].map((block) => block.split("\n")[0])).toEqual([
    "kubectl create namespace stackwright",
    "kubectl -n stackwright rollout status deployment/stackwright-server",
    `kubectl -n stackwright port-forward service/stackwright ${port}`,
    expect.stringContaining("stackwright login"),
  ]);

  await shell(CERTIFICATES);
  await writeFile(join(folder, "server.json"), JSON.stringify({ store: "sqlite:data" }));
  await shell(secrets);
  await shell(bootstrap);
  const started: SpawnedCommand[] = [];
  onTestFinished(async () => {
    for (const one of started.toReversed()) await one.stop("SIGKILL");
  });
  const start = async (words: readonly string[], pattern: RegExp): Promise<void> => {
    const command = spawnCommand(words, { cwd: folder });
    started.push(command);
    await command.waitFor(pattern);
  };
  // In place of the forwarded port.
  const own = ["--config=server.json", "--key-file=secret/server-key", "--executor=none"];
  const tls = ["--tls-certificate=secret/tls.crt", "--tls-key=secret/tls.key", "--host=localhost"];
  const server = ["serve", ...own, ...tls, `--port=${port}`, "--storage-port=0"];
  await start(server, /The server is at https:/);
  await shell(token);
  const address = `https://localhost:${port}`;
  const trusted = ["--token-file", "secret/token", "--ca-file", "secret/ca.crt"];
  await start(["worker", "--server", address, ...trusted, "--directory", "runs"], /claims steps/);
});

/** An authority, and a certificate of it for the hosts that the page names. */
const CERTIFICATES = `
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=Authority -keyout ca.key -out ca.crt 2> openssl.log
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=stackwright -keyout tls.key -out tls.csr 2>> openssl.log \\
  -addext subjectAltName=DNS:stackwright.stackwright.svc,DNS:localhost
openssl x509 -req -in tls.csr -days 30 -CA ca.crt -CAkey ca.key -copy_extensions copy -out tls.crt 2>> openssl.log
`;

/** A `kubectl` for the words that the page has; it fails for others. */
function kubectl(folder: string): string {
  return `#!/bin/sh
set -e
cd '${folder}'
mkdir -p secret
case "$*" in
"create namespace stackwright" | "apply -f examples/kubernetes/stackwright.yaml") ;;
"-n stackwright rollout status deployment/stackwright-server") ;;
"-n stackwright create secret generic "*" --from-file="*)
  for word in "$@"; do
    case "$word" in --from-file=*) cp "\${word#--from-file=}" secret/ && chmod 600 secret/* ;; esac
  done
  ;;
"-n stackwright exec deployment/stackwright-server -- stackwright admin bootstrap "*)
  config=; key=
  for word in "$@"; do
    case "$word" in
    --config=/run/secrets/stackwright/*) config="--config=secret/\${word##*/}" ;;
    --key-file=/run/secrets/stackwright/*) key="--key-file=secret/\${word##*/}" ;;
    esac
  done
  stackwright admin bootstrap "$config" "$key"
  ;;
*)
  echo "the page has other words for kubectl: $*" >&2
  exit 1
  ;;
esac
`;
}
