import type { ArchiveProperty, AssetProperty, ResourceProperty } from "./value.ts";

export type AssetSource =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "uri"; readonly uri: string }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "elided" };

export type PropertyArchiveSource =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "uri"; readonly uri: string }
  | { readonly kind: "assets"; readonly assets: NonNullable<ArchiveProperty["assets"]> }
  | { readonly kind: "elided" };

/** SHA-256 of nothing, and of a tar file without entries (1024 zero bytes). */
const EMPTY_TEXT_HASH = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
const EMPTY_ARCHIVE_HASH = "5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef";

/**
 * Where an asset's contents are, in Pulumi's order: path, URI, text. An asset without any of them
 * is an empty text, unless it has the hash of something else: then its contents were left out.
 */
export function assetSource(asset: AssetProperty): AssetSource {
  const { path = "", uri = "", text = "", hash = "" } = asset;
  if (path !== "") return { kind: "path", path };
  if (uri !== "") return { kind: "uri", uri };
  if (text !== "" || hash === "" || hash === EMPTY_TEXT_HASH) return { kind: "text", text };
  return { kind: "elided" };
}

/** Where an archive's contents are; the rules are those of {@link assetSource}. */
export function archiveSource(archive: ArchiveProperty): PropertyArchiveSource {
  const { path = "", uri = "", assets = new Map(), hash = "" } = archive;
  if (path !== "") return { kind: "path", path };
  if (uri !== "") return { kind: "uri", uri };
  if (assets.size > 0 || hash === "" || hash === EMPTY_ARCHIVE_HASH)
    return { kind: "assets", assets };
  return { kind: "elided" };
}

export type ResourcePropertyId =
  | { readonly kind: "known"; readonly id: string }
  | { readonly kind: "unknown" }
  | { readonly kind: "component" };

/** The id of the referenced resource; a component has none. */
export function resourceId(resource: ResourceProperty): ResourcePropertyId {
  if (resource.id === undefined) return { kind: "component" };
  const id = resource.id.kind === "output" ? resource.id.value : resource.id;
  if (id?.kind !== "string" || id.value === "") return { kind: "unknown" };
  return { kind: "known", id: id.value };
}
