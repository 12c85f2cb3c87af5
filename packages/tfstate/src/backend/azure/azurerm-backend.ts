import { createHash } from "node:crypto";
import type { TfstateError } from "../../errors.ts";
import type { BackendArguments } from "../backend-arguments.ts";
import { isOwnLock, lockedError, lockText } from "../lock-record.ts";
import type { OpenBackendOptions } from "../open-backend.ts";
import { serverIdentity } from "../server-identity.ts";
import {
  type BackendCall,
  DEFAULT_WORKSPACE,
  type HeldLock,
  type StateBackend,
  sortedWorkspaces,
} from "../state-backend.ts";
import { answerError, sendRequest, type WebAnswer } from "../web-request.ts";
import { azureCloud, azureSigner } from "./azure-credentials.ts";

const VERSION = "2021-12-02";
const LOCK = "terraformlockid";
const METADATA = "x-ms-meta-";
/** Of five thousand names each. */
const MAX_PAGES = 1_000;

/** Blobs of a container of Azure; a lock is a lease without end, with its record in the metadata of the blob. */
export function azurermBackend(
  configuration: BackendArguments,
  options: OpenBackendOptions,
): StateBackend {
  const account = configuration.need("storage_account_name");
  const container = configuration.need("container_name");
  const key = configuration.need("key");
  const snapshots = configuration.flag("snapshot", "ARM_SNAPSHOT") ?? false;
  const home = endpoint(configuration, account, options.env);
  const sign = azureSigner(configuration, account, options);
  const nameOf = (workspace: string): string =>
    workspace === DEFAULT_WORKSPACE ? key : `${key}env:${workspace}`;
  const place = (workspace: string): string =>
    `azurerm account ${account}, container ${container}, blob ${nameOf(workspace)}`;
  const secrets = [
    configuration.text("access_key", "ARM_ACCESS_KEY"),
    configuration.text("sas_token", "ARM_SAS_TOKEN"),
    configuration.text("client_secret", "ARM_CLIENT_SECRET"),
  ].filter((secret) => secret !== undefined);
  /** Leases that this process has, by workspace. */
  const leases = new Map<string, string>();

  const call = async (
    method: string,
    path: string,
    { signal }: BackendCall,
    {
      query = {},
      headers = {},
      body,
    }: {
      readonly query?: Readonly<Record<string, string>>;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: Uint8Array | undefined;
    } = {},
  ): Promise<WebAnswer> => {
    const url = new URL(`${home}/${encodeURIComponent(container)}${path}`);
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
    const request = {
      method,
      url,
      headers: { "x-ms-version": VERSION, ...headers },
      length: body?.length ?? 0,
    };
    const signed = await sign(request, { signal });
    const sent = method === "PUT" ? (body ?? new Uint8Array()) : body;
    return sendRequest({
      method,
      maxBytes: options.maxBytes,
      url: signed.url.href,
      headers: signed.headers,
      signal,
      ...(sent !== undefined && { body: sent }),
    });
  };
  const blob = (workspace: string): string =>
    `/${nameOf(workspace).split("/").map(encodeURIComponent).join("/")}`;
  const failure = (workspace: string, what: string, answer: WebAnswer): TfstateError => {
    const code = answer.headers.get("x-ms-error-code") ?? "";
    return answerError(place(workspace), what, { ...answer, body: Buffer.from(code) }, secrets);
  };
  const isMissing = ({ status, headers }: WebAnswer): boolean =>
    status === 404 && headers.get("x-ms-error-code") !== "ContainerNotFound";
  /** Metadata of a blob; undefined where there is none. */
  const properties = async (
    workspace: string,
    options: BackendCall,
  ): Promise<
    { readonly metadata: Record<string, string>; readonly leased: boolean } | undefined
  > => {
    const answer = await call("HEAD", blob(workspace), options);
    if (isMissing(answer)) return undefined;
    if (answer.status !== 200) throw failure(workspace, "reading the properties", answer);
    const metadata: Record<string, string> = {};
    for (const [name, value] of answer.headers)
      if (name.startsWith(METADATA)) metadata[name.slice(METADATA.length)] = value;
    return { metadata, leased: answer.headers.get("x-ms-lease-status") === "locked" };
  };
  const asHeaders = (metadata: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(metadata).map(([name, value]) => [METADATA + name.toLowerCase(), value]),
    );
  const holderOf = (metadata: Readonly<Record<string, string>>): string | undefined => {
    const record = metadata[LOCK];
    return record === undefined ? undefined : Buffer.from(record, "base64").toString("utf8");
  };
  const setMetadata = async (
    workspace: string,
    metadata: Readonly<Record<string, string>>,
    lease: string,
    options: BackendCall,
  ): Promise<void> => {
    const headers = { ...asHeaders(metadata), "x-ms-lease-id": lease };
    const answer = await call("PUT", blob(workspace), options, {
      query: { comp: "metadata" },
      headers,
    });
    if (answer.status !== 200) throw failure(workspace, "writing the lock record", answer);
  };
  const put = async (
    workspace: string,
    bytes: Uint8Array,
    metadata: Readonly<Record<string, string>>,
    options: BackendCall & { readonly lease?: string | undefined; readonly isNew?: boolean },
  ): Promise<WebAnswer> => {
    const { lease, isNew = false } = options;
    return call("PUT", blob(workspace), options, {
      body: bytes,
      headers: {
        ...asHeaders(metadata),
        "x-ms-blob-type": "BlockBlob",
        "content-type": "application/json",
        "content-md5": createHash("md5").update(bytes).digest("base64"),
        ...(lease !== undefined && { "x-ms-lease-id": lease }),
        ...(isNew && { "if-none-match": "*" }),
      },
    });
  };
  const release = async (workspace: string, id: string, options: BackendCall): Promise<void> => {
    const found = await properties(workspace, options);
    leases.delete(workspace);
    if (found?.leased !== true) return;
    if (holderOf(found.metadata) !== undefined) {
      const { [LOCK]: _, ...rest } = found.metadata;
      await setMetadata(workspace, rest, id, options);
    }
    const answer = await call("PUT", blob(workspace), options, {
      query: { comp: "lease" },
      headers: { "x-ms-lease-action": "release", "x-ms-lease-id": id },
    });
    if (answer.status !== 200) throw failure(workspace, "releasing the lock", answer);
  };

  return {
    type: "azurerm",
    identity: (workspace) => `${serverIdentity(home)}/${container}/${nameOf(workspace)}`,
    place,
    workspaces: async (options = {}) => {
      const prefix = `${key}env:`;
      const names: string[] = [];
      let marker = "";
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const query = { restype: "container", comp: "list", prefix };
        const answer = await call("GET", "", options, {
          query: { ...query, ...(marker !== "" && { marker }) },
        });
        if (answer.status !== 200)
          throw failure(DEFAULT_WORKSPACE, "listing the workspaces", answer);
        const text = answer.body.toString("utf8");
        for (const [, name = ""] of text.matchAll(/<Name>([^<]*)<\/Name>/g))
          names.push(unescaped(name));
        marker = unescaped(/<NextMarker>([^<]+)<\/NextMarker>/.exec(text)?.[1] ?? "");
        if (marker === "") break;
      }
      const found = names.map((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : ""));
      return sortedWorkspaces(found.filter((name) => name !== "" && !name.includes("/")));
    },
    read: async (workspace, options = {}) => {
      const answer = await call("GET", blob(workspace), options);
      if (isMissing(answer)) return undefined;
      if (answer.status !== 200) throw failure(workspace, "reading the state", answer);
      return answer.body.length === 0 ? undefined : answer.body;
    },
    write: async (workspace, bytes, { signal, lockId } = {}) => {
      const lease = leases.get(workspace) ?? lockId;
      const found = await properties(workspace, { signal });
      if (snapshots && found !== undefined) {
        const answer = await call(
          "PUT",
          blob(workspace),
          { signal },
          {
            query: { comp: "snapshot" },
            headers: lease === undefined ? {} : { "x-ms-lease-id": lease },
          },
        );
        if (answer.status !== 201) throw failure(workspace, "taking a snapshot", answer);
      }
      // A lease of ours is named even where the blob has none any more: others may have written since it was broken.
      const held = leases.get(workspace) ?? (found?.leased === true ? lockId : undefined);
      const answer = await put(workspace, bytes, found?.metadata ?? {}, { signal, lease: held });
      if (answer.status !== 201) throw failure(workspace, "writing the state", answer);
    },
    lock: async (workspace, record, options = {}): Promise<HeldLock> => {
      let found = await properties(workspace, options);
      if (found === undefined) {
        const made = await put(workspace, new Uint8Array(), {}, { ...options, isNew: true });
        // Somebody was faster: what is there now is looked at.
        if (made.status !== 201 && made.status !== 409 && made.status !== 412)
          throw failure(workspace, "creating the blob to lock", made);
        found = await properties(workspace, options);
      }
      const held: HeldLock = {
        id: record.ID,
        outlivesProcess: true,
        release: async (ending = {}) => release(workspace, record.ID, ending),
      };
      const answer = await call("PUT", blob(workspace), options, {
        query: { comp: "lease" },
        headers: {
          "x-ms-lease-action": "acquire",
          "x-ms-lease-duration": "-1",
          "x-ms-proposed-lease-id": record.ID,
        },
      });
      if (answer.status === 409) {
        const now = await properties(workspace, options);
        const holder = holderOf(now?.metadata ?? {});
        if (isOwnLock(holder, record)) return held;
        throw lockedError(place(workspace), holder);
      }
      if (answer.status !== 201) throw failure(workspace, "locking the state", answer);
      leases.set(workspace, record.ID);
      const named = { ...record, Path: `${home}/${container}/${nameOf(workspace)}` };
      const text = Buffer.from(lockText(named)).toString("base64");
      const metadata = { ...found?.metadata, [LOCK]: text };
      try {
        await setMetadata(workspace, metadata, record.ID, options);
      } catch (error) {
        // Without its record no command could end the lease. The caller's signal may be the reason.
        await release(workspace, record.ID, {}).catch(() => undefined);
        throw error;
      }
      return held;
    },
    lockHolder: async (workspace, options = {}) => {
      const found = await properties(workspace, options);
      return found?.leased === true ? holderOf(found.metadata) : undefined;
    },
    unlock: async (workspace, id, options = {}) => {
      const found = await properties(workspace, options);
      const holder = holderOf(found?.metadata ?? {});
      if (!isOwnLock(holder, { ...EMPTY_RECORD, ID: id })) return;
      await release(workspace, id, options);
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

const EMPTY_RECORD = { Operation: "", Info: "", Who: "", Version: "", Created: "", Path: "" };

/** The blobs of an account; an emulator is named as for the Azure CLI. */
function endpoint(
  configuration: BackendArguments,
  account: string,
  env: NodeJS.ProcessEnv,
): string {
  const members = new Map(
    (env["AZURE_STORAGE_CONNECTION_STRING"] ?? "").split(";").map((part): [string, string] => {
      const split = part.indexOf("=");
      return [part.slice(0, split), part.slice(split + 1)];
    }),
  );
  const emulated = members.get("BlobEndpoint");
  if (emulated !== undefined && members.get("AccountName") === account && URL.canParse(emulated))
    return emulated.replace(/\/+$/, "");
  return `https://${account}.blob.${azureCloud(configuration).suffix}`;
}

function unescaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
  };
  return text.replace(/&(#x?[0-9a-f]+|\w+);/gi, (all, name: string) => {
    if (!name.startsWith("#")) return names[name] ?? all;
    const code = name[1] === "x" ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return String.fromCodePoint(code);
  });
}
