import { gzipSync } from "node:zlib";
import { TfstateError } from "../../errors.ts";
import type { BackendArguments } from "../backend-arguments.ts";
import { isOwnLock, lockedError, lockText } from "../lock-record.ts";
import type { OpenBackendOptions } from "../open-backend.ts";
import {
  type BackendCall,
  type HeldLock,
  type StateBackend,
  sortedWorkspaces,
} from "../state-backend.ts";
import { MAX_STATE_BYTES, unpackedState } from "../state-bytes.ts";
import { answerError, sendRequest, type WebAnswer } from "../web-request.ts";
import { openCluster } from "./cluster-access.ts";

const LOCK_ANNOTATION = "app.terraform.io/lock-info";
/** Of the compressed state in one secret. */
const PART_BYTES = 1_048_576;

interface Named {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

interface Secret extends Named {
  readonly data?: Readonly<Record<string, string>> | null;
}

interface Lease extends Named {
  readonly spec?: { readonly holderIdentity?: string | null };
}

/** Secrets of a Kubernetes namespace; a lock is a lease object with a holder, which stays until it is released. */
export function kubernetesBackend(
  configuration: BackendArguments,
  options: OpenBackendOptions,
): StateBackend {
  const suffix = configuration.need("secret_suffix");
  const namespace = configuration.text("namespace", "KUBE_NAMESPACE") ?? "default";
  const labels = configuration.map("labels") ?? {};
  const access = openCluster(configuration, options);
  const { maxBytes = MAX_STATE_BYTES } = options;
  const secrets = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`;
  const leases = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const nameOf = (workspace: string): string => {
    const name = `tfstate-${workspace}-${suffix}`;
    if (/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) && name.length <= 253) return name;
    throw configuration.invalid(
      `"${name}" is not a valid name of a secret: lower-case letters, digits, "-" and "." are`,
    );
  };
  const partOf = (workspace: string, at: number): string =>
    at === 0 ? nameOf(workspace) : `${nameOf(workspace)}-part-${at}`;
  const place = (workspace: string): string =>
    `kubernetes namespace ${namespace}, secret tfstate-${workspace}-${suffix}`;
  const labelsOf = (workspace: string): Readonly<Record<string, string>> => ({
    tfstate: "true",
    tfstateSecretSuffix: suffix,
    tfstateWorkspace: workspace,
    "app.kubernetes.io/managed-by": "terraform",
    ...labels,
  });

  const call = async (
    method: string,
    path: string,
    { signal }: BackendCall,
    body?: unknown,
  ): Promise<WebAnswer> => {
    const { server, headers, security } = await access({ signal });
    return sendRequest({
      method,
      url: `${server.replace(/\/+$/, "")}${path}`,
      signal,
      security,
      // Values are in base 64.
      maxBytes: 2 * maxBytes,
      headers: { Accept: "application/json", "Content-Type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  };
  const failure = (workspace: string, what: string, answer: WebAnswer): TfstateError => {
    // A status object says it in a member.
    const text = reasonOf(answer.body);
    return answerError(place(workspace), what, { ...answer, body: Buffer.from(text) });
  };
  const get = async <T>(
    path: string,
    workspace: string,
    what: string,
    options: BackendCall,
  ): Promise<T | undefined> => {
    const answer = await call("GET", path, options);
    if (answer.status === 404) return undefined;
    if (answer.status !== 200) throw failure(workspace, what, answer);
    return JSON.parse(answer.body.toString("utf8")) as T;
  };
  const listed = async (
    selector: Readonly<Record<string, string>>,
    options: BackendCall,
  ): Promise<readonly Secret[]> => {
    const text = Object.entries(selector).map(([name, value]) => `${name}=${value}`);
    const query = `?labelSelector=${encodeURIComponent(text.join(","))}`;
    const found = await get<{ readonly items?: readonly Secret[] | null }>(
      `${secrets}${query}`,
      "*",
      "listing secrets",
      options,
    );
    return found?.items ?? [];
  };
  /** The secrets of a state, by their number. */
  const parts = async (workspace: string, options: BackendCall): Promise<readonly Secret[]> => {
    const found = await listed(labelsOf(workspace), options);
    const byName = new Map(found.map((secret) => [secret.metadata.name, secret]));
    const ordered: Secret[] = [];
    for (let at = 0; ; at += 1) {
      const secret = byName.get(partOf(workspace, at));
      if (secret === undefined) break;
      ordered.push(secret);
    }
    if (ordered.length > 0) return ordered;
    // One that was labelled in another way is found by its name.
    const path = `${secrets}/${nameOf(workspace)}`;
    const single = await get<Secret>(path, workspace, "reading the secret", options);
    return single === undefined ? [] : [single];
  };
  const leasePath = (workspace: string) => `${leases}/lock-${nameOf(workspace)}`;
  const leaseOf = async (workspace: string, options: BackendCall) =>
    get<Lease>(leasePath(workspace), workspace, "reading the lease", options);
  const free = async (workspace: string, id: string, options: BackendCall): Promise<void> => {
    const lease = await leaseOf(workspace, options);
    if (lease?.spec?.holderIdentity !== id) return;
    const { [LOCK_ANNOTATION]: _, ...annotations } = lease.metadata.annotations ?? {};
    const freed = {
      ...lease,
      metadata: { ...lease.metadata, annotations },
      spec: { ...lease.spec, holderIdentity: null },
    };
    const answer = await call("PUT", leasePath(workspace), options, freed);
    if (answer.status !== 200) throw failure(workspace, "releasing the lock", answer);
  };

  return {
    type: "kubernetes",
    place,
    workspaces: async (options = {}) => {
      const found = await listed({ tfstate: "true" }, options);
      return sortedWorkspaces(
        found
          .flatMap(({ metadata: { labels: own = {} } }) =>
            own["tfstateSecretSuffix"] === suffix ? [own["tfstateWorkspace"] ?? ""] : [],
          )
          .filter((name) => name !== ""),
      );
    },
    read: async (workspace, options = {}) => {
      const found = await parts(workspace, options);
      if (found.length === 0) return undefined;
      const packed = found.map(({ data, metadata: { name } }) => {
        const text = data?.["tfstate"] ?? "";
        if (text !== "") return Buffer.from(text, "base64");
        // What takes it for no state would create everything again.
        throw new TfstateError(
          "TFSTATE_BACKEND_DIGEST",
          `kubernetes namespace ${namespace}: the secret ${name} has no state in its member "tfstate"; restore it, or remove the secret`,
        );
      });
      return unpackedState(Buffer.concat(packed), place(workspace), maxBytes);
    },
    write: async (workspace, bytes, { signal } = {}) => {
      const packed = gzipSync(bytes);
      const before = (await parts(workspace, { signal })).length;
      const count = Math.ceil(packed.length / PART_BYTES);
      for (let at = 0; at < Math.max(count, before); at += 1) {
        const name = partOf(workspace, at);
        const path = `${secrets}/${name}`;
        if (at >= count) {
          const answer = await call("DELETE", path, { signal });
          if (answer.status !== 200 && answer.status !== 404)
            throw failure(workspace, "removing a part of the state", answer);
          continue;
        }
        const part = packed.subarray(at * PART_BYTES, (at + 1) * PART_BYTES);
        const known = await get<Secret>(path, workspace, "reading the secret", { signal });
        const metadata = known?.metadata ?? {
          name,
          namespace,
          labels: labelsOf(workspace),
          annotations: { encoding: "gzip" },
        };
        const secret = {
          apiVersion: "v1",
          kind: "Secret",
          ...known,
          metadata,
          data: { ...known?.data, tfstate: part.toString("base64") },
        };
        const answer =
          known === undefined
            ? await call("POST", secrets, { signal }, secret)
            : await call("PUT", path, { signal }, secret);
        if (answer.status !== 200 && answer.status !== 201)
          throw failure(workspace, "writing the state", answer);
      }
    },
    lock: async (workspace, record, options = {}): Promise<HeldLock> => {
      const known = await leaseOf(workspace, options);
      const holder = known?.metadata.annotations?.[LOCK_ANNOTATION];
      const held: HeldLock = {
        id: record.ID,
        outlivesProcess: true,
        release: async (ending = {}) => free(workspace, record.ID, ending),
      };
      const identity = known?.spec?.holderIdentity ?? "";
      if (identity !== "") {
        if (identity === record.ID || isOwnLock(holder, record)) return held;
        throw lockedError(place(workspace), holder);
      }
      const text = lockText(record);
      const name = `lock-${nameOf(workspace)}`;
      const metadata = known?.metadata ?? { name, namespace, labels: labelsOf(workspace) };
      const lease = {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        ...known,
        metadata: {
          ...metadata,
          annotations: { ...known?.metadata.annotations, [LOCK_ANNOTATION]: text },
        },
        spec: { ...known?.spec, holderIdentity: record.ID },
      };
      const answer =
        known === undefined
          ? await call("POST", leases, options, lease)
          : await call("PUT", leasePath(workspace), options, lease);
      if (answer.status === 409) {
        // Somebody was faster, or this very request was repeated.
        const now = await leaseOf(workspace, options);
        if (now?.spec?.holderIdentity === record.ID) return held;
        throw lockedError(place(workspace), now?.metadata.annotations?.[LOCK_ANNOTATION]);
      }
      if (answer.status !== 200 && answer.status !== 201)
        throw failure(workspace, "locking the state", answer);
      return held;
    },
    lockHolder: async (workspace, options = {}) => {
      const lease = await leaseOf(workspace, options);
      const isHeld = (lease?.spec?.holderIdentity ?? "") !== "";
      return isHeld ? lease?.metadata.annotations?.[LOCK_ANNOTATION] : undefined;
    },
    unlock: async (workspace, id, options = {}) => free(workspace, id, options),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function reasonOf(body: Buffer): string {
  try {
    const { message } = JSON.parse(body.toString("utf8")) as { readonly message?: unknown };
    return typeof message === "string" ? message : "";
  } catch {
    return body.toString("utf8");
  }
}
