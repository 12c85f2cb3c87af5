import { readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { Platform, Version } from "@stackwright/provider-source";
import { InstallHttpClient } from "@stackwright/tfplugin/install";
import { EngineError } from "../errors.ts";
import type { InstallPluginOptions } from "./install-pulumi-plugin.ts";
import { archiveOf, isServerUrl, whyUnsafe } from "./plugin-places.ts";
import type { PluginServer } from "./plugin-servers.ts";
import { readVersion } from "./pulumi-plugins.ts";

/** Releases that are asked for at a time, and most of such pages. */
const PAGE = 100;
const MAX_PAGES = 20;

type ListOptions = Pick<InstallPluginOptions, "cwd" | "platform" | "http" | "signal">;

/**
 * The versions that a server offers for a platform, the newest first: those of the archives in a folder, or those of a list of
 * versions. Undefined where there is no list.
 *
 * Two forms of lists are known: `{ "versions": ["1.2.0"] }`, and releases with a `tag_name` as the APIs of GitHub and GitLab return
 * them, a page after the other. Drafts, tags that are no version, and releases without an archive for the platform are passed over.
 */
export async function listPluginVersions(
  plugin: PluginServer,
  options: ListOptions,
): Promise<readonly Version[] | undefined> {
  const platform = options.platform ?? Platform.ofNode();
  const listed =
    plugin.versions === undefined
      ? await inFolder(plugin, platform, options)
      : await inList(plugin, plugin.versions, platform, options);
  return listed
    ?.flatMap((text) => readVersion(text) ?? [])
    .toSorted((a, b) => Version.compare(b, a));
}

async function inFolder(
  { name, server }: PluginServer,
  platform: Platform,
  { cwd }: ListOptions,
): Promise<readonly string[] | undefined> {
  if (isServerUrl(server) || server.includes("${")) return undefined;
  const [prefix = "", suffix = ""] = archiveOf(name, " ", platform).split(" ");
  const entries = await readdir(resolve(cwd, server)).catch(() => []);
  return entries
    .filter((entry) => entry.startsWith(prefix) && entry.endsWith(suffix))
    .map((entry) => entry.slice(prefix.length, -suffix.length));
}

async function inList(
  plugin: PluginServer,
  list: string,
  platform: Platform,
  { http = new InstallHttpClient(), signal }: ListOptions,
): Promise<readonly string[]> {
  const refused = (why: string, cause?: unknown): EngineError =>
    new EngineError(
      "ENGINE_PROVIDER_UNAVAILABLE",
      `the versions of the plug-in ${plugin.address.toString()} cannot be read from ${list}: ${why}. ` +
        'Require one exact version, such as version = "1.2.0", where there is no list.',
      { cause },
    );
  const first = URL.parse(list);
  const unsafe = first === null ? "it is not a URL" : whyUnsafe(first);
  if (first === null || unsafe !== undefined) throw refused(unsafe ?? "");
  const found: string[] = [];
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const url = new URL(first);
    url.searchParams.set("per_page", String(PAGE));
    url.searchParams.set("page", String(page));
    let document: unknown;
    try {
      const headers = { accept: "application/json" };
      const bytes = await http.bytes(url, { headers, signal });
      document = JSON.parse(new TextDecoder().decode(bytes));
    } catch (error) {
      signal?.throwIfAborted();
      throw refused(error instanceof Error ? error.message : String(error), error);
    }
    if (!Array.isArray(document)) {
      const versions = memberOf(document, "versions");
      if (Array.isArray(versions)) return versions.filter((one) => typeof one === "string");
      throw refused('it is neither {"versions": [...]} nor a list of releases');
    }
    found.push(...document.flatMap((release) => versionOf(release, plugin.name, platform)));
    if (document.length < PAGE) return found;
  }
  return found;
}

/** The version of a release, where it has one and an archive for the platform. */
function versionOf(release: unknown, name: string, platform: Platform): readonly string[] {
  const tag = memberOf(release, "tag_name");
  if (typeof tag !== "string" || memberOf(release, "draft") === true) return [];
  const version = readVersion(tag)?.toString();
  if (version === undefined) return [];
  const assets = memberOf(release, "assets");
  const files = Array.isArray(assets) ? assets : memberOf(assets, "links");
  const archive = archiveOf(name, version, platform);
  const isThere = !Array.isArray(files) || files.some((file) => memberOf(file, "name") === archive);
  return isThere ? [version] : [];
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
