/** The address of a package, written out. */
interface RemoteAddress {
  /** What was written before `::`, or what a shorthand stands for; empty where the scheme of the URL says it. */
  readonly getter: string;
  readonly url: string;
}

/** Shorthands, in the order in which they are tried. They are for addresses without a scheme. */
const SHORTHANDS: readonly ((text: string) => RemoteAddress | undefined)[] = [
  (text) => repository("github.com", text),
  secureCopy,
  (text) => repository("bitbucket.org", text),
  cloudStorage,
  s3Bucket,
  (text) => (text.startsWith("/") ? { getter: "", url: `file://${text}` } : undefined),
];

/**
 * Writes the address of a package out: `github.com/o/r` is `git::https://github.com/o/r.git`. Undefined where it is none.
 *
 * Source: the detectors of Terraform's module sources.
 */
export function expandRemoteAddress(address: string): RemoteAddress | undefined {
  const [, forced = "", rest = ""] = /^([A-Za-z0-9]+)::(.+)$/s.exec(address) ?? ["", "", address];
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(rest)) return { getter: forced, url: rest };
  for (const expand of SHORTHANDS) {
    const found = expand(rest);
    if (found !== undefined) return { ...found, getter: forced === "" ? found.getter : forced };
  }
  return undefined;
}

/** `HOST/OWNER/NAME/FOLDER?QUERY` */
function repository(host: string, text: string): RemoteAddress | undefined {
  const { path, query } = splitQuery(text);
  const [found, owner, name, ...folder] = path.split("/");
  if (found !== host || isEmpty(owner) || isEmpty(name)) return undefined;
  const file = name.endsWith(".git") ? name : `${name}.git`;
  const below = folder.length === 0 ? "" : `//${folder.join("/")}`;
  return { getter: "git", url: `https://${host}/${owner}/${file}${below}${query}` };
}

/** `git@HOST:PATH`, as `scp` writes it. */
function secureCopy(text: string): RemoteAddress | undefined {
  const match = /^git@([^:/]+):\/?(.+)$/s.exec(text);
  if (match === null) return undefined;
  const [, host = "", path = ""] = match;
  return { getter: "git", url: `ssh://git@${host}/${path}` };
}

function cloudStorage(text: string): RemoteAddress | undefined {
  if (!text.includes("googleapis.com/")) return undefined;
  const { path, query } = splitQuery(text);
  const [, service, version, bucket, ...object] = path.split("/");
  if (isEmpty(service) || isEmpty(version) || isEmpty(bucket)) return undefined;
  const url = `https://www.googleapis.com/${service}/${version}/${bucket}/${object.join("/")}${query}`;
  return { getter: "gcs", url };
}

/** A host of Amazon, with the bucket in it or behind it; written with the bucket behind it. */
function s3Bucket(text: string): RemoteAddress | undefined {
  if (!text.includes(".amazonaws.com/")) return undefined;
  const { path, query } = splitQuery(text);
  const [host = "", ...parts] = path.split("/");
  const labels = host.split(".");
  const [first = "", second = "", third = ""] = labels;
  const key = parts.join("/");
  const at = (server: string, rest: string): RemoteAddress => ({
    getter: "s3",
    url: `https://${server}.amazonaws.com/${rest}${query}`,
  });
  if (labels.length === 3) return at(first, key);
  if (labels.length === 4 && first === "s3") return at(`${first}.${second}`, key);
  if (labels.length === 4) return at(second, `${first}/${key}`);
  return labels.length === 5 ? at(`${second}.${third}`, `${first}/${key}`) : undefined;
}

function splitQuery(text: string): { readonly path: string; readonly query: string } {
  const at = text.indexOf("?");
  return at < 0 ? { path: text, query: "" } : { path: text.slice(0, at), query: text.slice(at) };
}

function isEmpty(part: string | undefined): part is undefined | "" {
  return part === undefined || part === "";
}
