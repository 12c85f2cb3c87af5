import {
  type Address,
  type Diagnostic,
  equalAddresses,
  formatAddress,
  parseAddress,
} from "@stackwright/lang";
import { byAddress } from "../plan/by-address.ts";
import { resourceOf } from "../state/check-state.ts";
import type { PlanRun } from "./plan-run.ts";
import { readAddresses } from "./selection.ts";

/** Reads the requests for replacements: single instances of managed resources. */
export function readReplaceRequests(
  texts: readonly string[],
  diagnostics: Diagnostic[],
): readonly Address[] {
  return readAddresses(texts, "replace", diagnostics).filter((address) => {
    if (address.kind === "resource" && address.mode === "managed") return true;
    diagnostics.push({
      severity: "error",
      code: "ENGINE_PLAN",
      summary: `Invalid force-replace address "${formatAddress(address)}"`,
      detail:
        "Only an instance of a managed resource can be replaced on request. Use its whole address.",
    });
    return false;
  });
}

/** Whether an instance is asked to be replaced: by exactly its address. */
export function isReplaceRequest(requests: readonly Address[], address: string): boolean {
  if (requests.length === 0) return false;
  const { value } = parseAddress(address);
  return value !== undefined && requests.some((request) => equalAddresses(request, value));
}

/** A request with an address that no instance has replaces nothing, contrary to what the user expects. */
export function reportUnmatchedRequests(run: PlanRun): void {
  const instances = [...run.changes.values()].filter(
    ({ deposed, mode }) => deposed === "" && mode === "managed",
  );
  for (const request of run.given.replace) {
    const text = formatAddress(request);
    if (instances.some(({ address }) => address === text)) continue;
    const own = instances.filter(({ address }) => withoutKeys(address) === withoutKeys(text));
    // An instance key is missing, whatever the keys of the modules are.
    const isBare = request.kind === "resource" && request.key === undefined;
    const keyed = isBare ? own.filter(({ address }) => resourceOf(address) !== address) : [];
    const exact = keyed.filter(({ address }) => resourceOf(address) === text);
    const near = [exact, keyed, isBare ? namesakes(request, instances) : []].find(
      (one) => one.length > 0,
    );
    run.report([near === undefined ? matchesNothing(text, own) : lacksKey(text, near)]);
  }
}

/** Instances with keys of resources of the same type and name, in whatever module. */
function namesakes(request: Address, instances: Instances): Instances {
  if (request.kind !== "resource") return [];
  const { type, name } = request;
  return instances.filter(({ address }) => {
    const { value } = parseAddress(address);
    if (value?.kind !== "resource" || value.key === undefined) return false;
    return value.type === type && value.name === name;
  });
}

type Instances = readonly { readonly address: string }[];

/** In order of their addresses, whenever their providers answered. */
function options(instances: Instances): string {
  const sorted = instances.toSorted(byAddress);
  return sorted.map(({ address }) => `\n  -replace=${JSON.stringify(address)}`).join("");
}

function lacksKey(text: string, instances: Instances): Diagnostic {
  return {
    severity: "warning",
    code: "ENGINE_PLAN",
    summary: "Incompletely-matched force-replace resource instance",
    detail: `The request to replace ${text} matches no instance, because it has no instance key. Instances:${options(instances)}`,
  };
}

function matchesNothing(text: string, instances: Instances): Diagnostic {
  const known = instances.length === 0 ? "" : ` Instances:${options(instances)}`;
  return {
    severity: "warning",
    code: "ENGINE_PLAN",
    summary: "Force-replace request without effect",
    detail: `The plan has no resource instance ${text}, so that nothing is replaced for it.${known}`,
  };
}

function withoutKeys(address: string): string {
  return address.replace(/\[(?:"(?:[^"\\]|\\.)*"|[0-9]+)\]/g, "");
}
