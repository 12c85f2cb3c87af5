import type { Page } from "../domain/listing.ts";
import type { PrivateProvider, PrivateProviderVersion } from "../domain/model.ts";

/** A provider as the API shows it; agencies only when set. */
export function providerView(provider: PrivateProvider): Record<string, string> {
  return {
    provider_id: provider.providerId,
    provider_name: provider.name,
    provider_description: provider.description,
    provider_source: provider.source,
    create_time: timeView(provider.createTimeMs),
    update_time: timeView(provider.updateTimeMs),
    ...(provider.agencyUrn === "" ? {} : { provider_agency_urn: provider.agencyUrn }),
    ...(provider.agencyName === "" ? {} : { provider_agency_name: provider.agencyName }),
  };
}

/** A version as lists show it. */
export function versionItemView(version: PrivateProviderVersion): Record<string, string> {
  return {
    provider_id: version.providerId,
    provider_name: version.providerName,
    provider_version: version.version,
    version_description: version.description,
    function_graph_urn: version.functionUrn,
    create_time: timeView(version.createTimeMs),
  };
}

/** A version as it is shown alone. */
export function versionView(version: PrivateProviderVersion): Record<string, string> {
  return { ...versionItemView(version), provider_source: version.source };
}

/** What a list says about itself; all three members are always there. */
export function pageInfo(page: Page<unknown>): Record<string, unknown> {
  return {
    current_count: page.items.length,
    next_marker: page.next ?? null,
    previous_marker: page.previous ?? null,
  };
}

function timeView(timeMs: number): string {
  return new Date(timeMs).toISOString();
}
