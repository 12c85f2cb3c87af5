import { RfsStacksError } from "../errors.ts";
import type { RfsStacksPort } from "../port/rfs-stacks-port.ts";
import type { RfsTarget } from "../port/stack-set-port.ts";
import type { BodyFields } from "../request/body-fields.ts";
import { checkProjectId } from "../request/names.ts";
import { readUri } from "../template/read-uri.ts";

const REGION = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const MAX_DOMAINS = 100;
const MAX_REGIONS = 20;
const MAX_FILE_BYTES = 100 * 1024;
/** What only organizations of the service have. */
const ORGANIZATION = ["organizational_unit_ids", "domain_id_filter_type"];

/** The regions and projects that a request names; without projects it means all that there are in the regions. */
export interface DeploymentTargets {
  readonly regions: readonly string[];
  readonly projects: readonly string[] | undefined;
}

/** Reads `deployment_targets`. What the service calls a domain is a project of this server. */
export async function readDeploymentTargets(
  port: Pick<RfsStacksPort, "read">,
  fields: BodyFields,
  signal: AbortSignal,
): Promise<DeploymentTargets | undefined> {
  const given = fields.object("deployment_targets", [
    "regions",
    "domain_ids",
    "domain_ids_uri",
    ...ORGANIZATION,
  ]);
  if (given === undefined) return undefined;
  const foreign = ORGANIZATION.find((name) => given.has(name));
  if (foreign !== undefined) {
    throw new RfsStacksError(
      "RFS_NOT_OFFERED",
      `deployment_targets.${foreign}: this server has no organizations; give domain_ids, which are names of projects`,
    );
  }
  const regions = given.texts("regions", MAX_REGIONS);
  if (regions === undefined || regions.length === 0) {
    throw new RfsStacksError(
      "RFS_PARAMETER_MISSING",
      "deployment_targets.regions names at least one region",
    );
  }
  const unfit = regions.find((region) => !REGION.test(region));
  if (unfit !== undefined) {
    throw new RfsStacksError(
      "RFS_PARAMETER_PATTERN",
      `deployment_targets.regions: "${unfit.slice(0, 64)}" is not letters, digits, "_" and "-"`,
    );
  }
  const named = given.texts("domain_ids", MAX_DOMAINS);
  const uri = given.text("domain_ids_uri", { max: 2048 });
  if (named !== undefined && uri !== undefined) {
    throw new RfsStacksError(
      "RFS_PARAMETER_CONFLICT",
      "domain_ids and domain_ids_uri are both given; give one of them",
    );
  }
  const projects = uri === undefined ? named : await readDomains(port, uri, signal);
  for (const project of projects ?? []) checkProjectId(project);
  if (projects?.length === 0) {
    throw new RfsStacksError("RFS_PARAMETER_LENGTH", "domain_ids names at least one project");
  }
  return {
    regions: unique("regions", regions),
    projects: projects && unique("domain_ids", projects),
  };
}

/** Each project in each region. */
export function targetsOf(
  regions: readonly string[],
  projects: readonly string[],
): readonly RfsTarget[] {
  return regions.flatMap((region) => projects.map((project) => ({ region, project })));
}

async function readDomains(
  port: Pick<RfsStacksPort, "read">,
  uri: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { url } = readUri("domain_ids_uri", uri, [".csv"]);
  const bytes = await port.read(url, MAX_FILE_BYTES, signal);
  const names = new TextDecoder()
    .decode(bytes)
    .split(/[,\r\n]/)
    .map((name) => name.trim())
    .filter((name) => name !== "");
  if (names.length <= MAX_DOMAINS) return names;
  throw new RfsStacksError(
    "RFS_PARAMETER_LENGTH",
    `domain_ids_uri names ${names.length} projects; it may name ${MAX_DOMAINS}`,
  );
}

function unique(field: string, names: readonly string[]): readonly string[] {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return names;
  throw new RfsStacksError("RFS_PARAMETER_CONFLICT", `${field} names "${twice}" twice`);
}
