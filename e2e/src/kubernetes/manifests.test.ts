import { readFileSync } from "node:fs";
import { mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseServeArguments } from "@stackwright/engine/options";
import { runCommand } from "@stackwright-tools/processes";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";

const ROOT = join(import.meta.dirname, "../../..");
const FILE = join(ROOT, "examples/kubernetes/stackwright.yaml");

interface Container {
  readonly name: string;
  readonly args: readonly string[];
  readonly ports?: readonly { readonly name: string }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly securityContext: object;
  readonly resources: { readonly limits: { readonly memory: string } };
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly selector: { readonly matchLabels: object };
    readonly template: {
      readonly metadata: { readonly labels: object };
      readonly spec: {
        readonly containers: readonly [Container];
        readonly volumes: readonly { readonly name: string; readonly secret?: object }[];
        readonly terminationGracePeriodSeconds: number;
      };
    };
  };
}

const manifests = parseAllDocuments(readFileSync(FILE, "utf8")).map((document) => {
  expect(document.errors).toEqual([]);
  return document.toJS() as Manifest;
});

/** What the Kubernetes types of its official client say about objects that are written as literals: names, types, required ones. */
async function typesOf(objects: readonly { readonly kind: string }[]): Promise<string> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-kubernetes-"));
  const folder = join(scratch.path, "node_modules/@kubernetes");
  await mkdir(folder, { recursive: true });
  const client = createRequire(join(ROOT, "packages/krt/package.json")).resolve(
    "@kubernetes/client-node",
  );
  await symlink(
    client.slice(0, client.indexOf("client-node/dist") + "client-node".length),
    join(folder, "client-node"),
  );
  const lines = objects.map(
    (object, at) =>
      `export const m${at}: { apiVersion: string; kind: string } & k8s.V1${object.kind} = ${literal(object)};`,
  );
  const text = ['import type * as k8s from "@kubernetes/client-node";', ...lines].join("\n");
  await writeFile(join(scratch.path, "manifests.ts"), text);
  const words = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "manifests.ts"];
  const result = await runCommand([join(ROOT, "node_modules/.bin/tsc"), ...words], {
    cwd: scratch.path,
    env: process.env,
    timeoutMs: 120_000,
  });
  return result.stdout;
}

/** The client calls a member `_from` that is a word of some languages. */
function literal(object: object): string {
  return JSON.stringify(object).replaceAll('"from":', '"_from":');
}

it("is what the types of Kubernetes allow, and a misspelt field is not", async () => {
  expect(manifests.map(({ kind }) => kind)).toContain("NetworkPolicy");
  const wrong = { apiVersion: "v1", kind: "ServiceAccount", metadata: { nmae: "a" } };
  const found = await typesOf([...manifests, wrong]);
  const lines = found.split("\n").filter((line) => line.startsWith("manifests.ts"));
  expect(lines).toEqual([expect.stringContaining(`(${manifests.length + 2},`)]);
  expect(lines[0]).toContain("nmae");
}, 180_000);

it("calls the server as it can be called", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-kubernetes-"));
  const config = join(scratch.path, "server.json");
  await writeFile(config, JSON.stringify({ store: "postgres://stackwright@db/stackwright" }));
  const { args } = deployment("stackwright-server").spec.template.spec.containers[0];
  expect(args[0]).toBe("serve");
  const words = args
    .slice(1)
    .map((word) => (word.startsWith("--config=") ? `--config=${config}` : word));
  const options = await parseServeArguments(words, {}, scratch.path);
  expect(options).toMatchObject({ port: 7400, storagePort: 7420, executor: "none" });
});

function deployment(name: string): Manifest {
  const found = manifests.find(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name === name,
  );
  if (found === undefined) throw new Error(`there is no Deployment ${name}`);
  return found;
}

it.each(["stackwright-server", "stackwright-worker"])(
  "%s may do little and fits together",
  (name) => {
    const { selector, template } = deployment(name).spec;
    expect(template.metadata.labels).toEqual(selector.matchLabels);
    const [container] = template.spec.containers;
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(template.spec).toMatchObject({ securityContext: { runAsNonRoot: true } });
    const volumes = template.spec.volumes.map((volume) => volume.name);
    expect(container.volumeMounts.map((mount) => mount.name).toSorted()).toEqual(
      volumes.toSorted(),
    );
    // Files that arguments name are in a volume.
    const paths = container.args.flatMap((word) => /=(\/[^=]+)$/.exec(word)?.[1] ?? []);
    expect(paths.length).toBeGreaterThan(2);
    for (const path of paths) {
      expect(
        container.volumeMounts.some((mount) => path.startsWith(`${mount.mountPath}/`)),
        path,
      ).toBe(true);
    }
    const drain = container.args.find((word) => word.startsWith("--drain-seconds="))?.split("=")[1];
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(Number(drain ?? 40));
  },
);

it("the steps of a worker fit into its memory together, so that none ends the applies of the others", () => {
  const [{ args, resources }] = deployment("stackwright-worker").spec.template.spec.containers;
  const numberOf = (name: string) =>
    Number(args.find((word) => word.startsWith(`--${name}=`))?.split("=")[1]);
  const [, gibibytes] = /^(\d+)Gi$/.exec(resources.limits.memory) ?? [];
  // The worker itself needs some, too.
  expect(numberOf("capacity") * numberOf("memory-mib") + 256).toBeLessThanOrEqual(
    Number(gibibytes) * 1_024,
  );
});
