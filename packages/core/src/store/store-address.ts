import { isAbsolute, resolve } from "node:path";

/** Where a store is. */
export type StoreAddress =
  | { readonly kind: "sqlite"; readonly directory: string }
  | { readonly kind: "memory" }
  | { readonly kind: "postgres"; readonly url: string }
  | {
      readonly kind: "etcd";
      readonly endpoints: readonly string[];
      readonly root: string | undefined;
      /** Where the blobs are: a PostgreSQL database, or a folder of this machine. @default in the cluster */
      readonly blobs?: { readonly postgres: string } | "folder";
    }
  | {
      readonly kind: "remote";
      readonly host: string;
      readonly port: number;
      readonly tls: boolean;
    };

/** An address that cannot be understood; the message says what is wrong with it. */
export class StoreAddressError extends Error {
  override readonly name = "StoreAddressError";
}

const FORMS =
  "a store is sqlite:FOLDER, postgres://USER@HOST/DATABASE, etcd://HOST:PORT[,HOST:PORT...][?blobs=postgres://...], stackwright://HOST:PORT (stackwrights:// with TLS)";

/** The port of the storage service where an address has none. */
const DEFAULT_REMOTE_PORT = 7420;

/**
 * Reads the address of a store. Folders are relative to `directory`. `StoreAddressError` says which forms there
 * are; an address may hold a password, so it is never part of the message.
 */
export function parseStoreAddress(text: string, directory: string): StoreAddress {
  const scheme = /^([a-z]+):/.exec(text)?.[1] ?? "";
  const rest = text.slice(scheme.length + 1);
  switch (scheme) {
    case "memory":
      return { kind: "memory" };
    case "sqlite": {
      const path = rest.replace(/^\/\/(?=\/|[^/])/, "");
      if (path === "") throw new StoreAddressError(`the folder of the store is missing: ${FORMS}`);
      return { kind: "sqlite", directory: isAbsolute(path) ? path : resolve(directory, path) };
    }
    case "postgres":
    case "postgresql":
      return { kind: "postgres", url: text };
    case "etcd":
    case "etcds":
      return etcdAddress(scheme, rest);
    case "stackwright":
    case "stackwrights":
      return remoteAddress(scheme, text);
    default:
      throw new StoreAddressError(
        scheme === "" ? FORMS : `there is no store of the kind "${scheme}": ${FORMS}`,
      );
  }
}

function etcdAddress(scheme: string, rest: string): StoreAddress {
  const question = rest.indexOf("?");
  const place = question === -1 ? rest : rest.slice(0, question);
  const [hosts = "", ...path] = place.replace(/^\/\//, "").split("/");
  const protocol = scheme === "etcds" ? "https" : "http";
  const endpoints = hosts
    .split(",")
    .filter((host) => host !== "")
    .map((host) => `${protocol}://${host}`);
  if (endpoints.length === 0) throw new StoreAddressError(`the members are missing: ${FORMS}`);
  const root = path.join("/");
  const blobs = question === -1 ? undefined : etcdBlobs(rest.slice(question + 1));
  return {
    kind: "etcd",
    endpoints,
    root: root === "" ? undefined : `${root}/`,
    ...(blobs !== undefined && { blobs }),
  };
}

/** The rest of the address is the address of the database, with a query of its own. */
function etcdBlobs(query: string): { readonly postgres: string } | "folder" | undefined {
  const where = query.startsWith("blobs=") ? query.slice("blobs=".length) : "";
  if (where === "etcd") return undefined;
  if (where === "folder") return where;
  if (/^postgres(?:ql)?:\/\//.test(where)) return { postgres: where };
  throw new StoreAddressError(
    "after the ? of an etcd store comes blobs=etcd, blobs=postgres://USER@HOST/DATABASE or blobs=folder",
  );
}

function remoteAddress(scheme: string, text: string): StoreAddress {
  let url: URL;
  try {
    url = new URL(text.replace(/^[a-z]+:/, "http:"));
  } catch {
    throw new StoreAddressError(`invalid server address: ${FORMS}`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new StoreAddressError(
      "a token does not belong into an address; give it as STACKWRIGHT_TOKEN",
    );
  }
  const port =
    url.port === "" ? (/:80(?:\/|$)/.test(text) ? 80 : DEFAULT_REMOTE_PORT) : Number(url.port);
  return {
    kind: "remote",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port,
    tls: scheme === "stackwrights",
  };
}

/** The address to be shown and kept: it says which store is meant, and holds no credentials. */
export function storeName(address: StoreAddress): string {
  switch (address.kind) {
    case "sqlite":
      return `sqlite:${address.directory}`;
    case "postgres": {
      if (!URL.canParse(address.url)) return "postgres:";
      const { hostname, port, pathname } = new URL(address.url);
      return `postgres://${hostname}${port === "" ? "" : `:${port}`}${pathname}`;
    }
    case "etcd": {
      const hosts = address.endpoints.map((endpoint) =>
        endpoint.replace(/^https?:\/\/(?:.*@)?/, ""),
      );
      const scheme = address.endpoints[0]?.startsWith("https:") === true ? "etcds" : "etcd";
      const root = address.root === undefined ? "" : `/${address.root.replace(/\/$/, "")}`;
      return `${scheme}://${hosts.join(",")}${root}`;
    }
    case "remote": {
      const host = address.host.includes(":") ? `[${address.host}]` : address.host;
      return `stackwright${address.tls ? "s" : ""}://${host}:${address.port}`;
    }
    case "memory":
      return "memory:";
    default:
      return address satisfies never;
  }
}
