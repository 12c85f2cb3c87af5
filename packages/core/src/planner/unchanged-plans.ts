import type { Value } from "@stackwright/cty";
import {
  type AttributeSchema,
  type BlockSchema,
  type PlanReply,
  type PlanResourceRequest,
  type ProviderReference,
} from "@stackwright/mux/router";
import type { ProviderInstance } from "../providers/provider-instances.ts";

/** What an answer about one unchanged object says about the others of its type. */
interface Sample {
  /** It was what the contract says. */
  readonly keeps: boolean;
  readonly legacyTypeSystem: boolean;
}

/** An object that a provider would be asked about. */
interface UnchangedQuestion {
  readonly use: ProviderInstance;
  readonly block: BlockSchema;
  readonly request: PlanResourceRequest;
  /** Whether the object is as it was recorded, with the schema and by the provider that it was recorded with. */
  readonly isAsRecorded: boolean;
}

/**
 * Answers in place of providers that are known to be pure, about objects of which nothing has changed: the object is what was recorded,
 * schema and provider are those that wrote it, and the configuration asks for nothing else than the object has.
 *
 * What a pure provider promises: asked to plan such an object it answers with the object, its private data and its identity as they are, and has nothing to
 * report. An answer that depends on anything else (the time, a file, the content of a registry) is not pure. The promise is checked where it costs little: about the
 * first such object of each type the provider is asked, and it is about all others where the answer is another one.
 */
export class UnchangedPlans {
  readonly #pure: readonly string[];
  readonly #samples = new Map<ProviderInstance, Map<string, Promise<Sample | undefined>>>();

  /** @param pure source addresses of providers, or the ends of them, such as `hashicorp/null` */
  constructor(pure: readonly string[]) {
    this.#pure = pure;
  }

  async answer(question: UnchangedQuestion, ask: () => Promise<PlanReply>): Promise<PlanReply> {
    const { use, request } = question;
    if (!this.#isPure(use.reference) || !isUnchanged(question)) return ask();
    let samples = this.#samples.get(use);
    if (samples === undefined) this.#samples.set(use, (samples = new Map()));
    const known = samples.get(request.type);
    if (known === undefined) {
      const reply = ask();
      samples.set(
        request.type,
        reply.then(
          (answer) => sampleOf(request, answer),
          () => undefined,
        ),
      );
      return reply;
    }
    const sample = await known;
    if (sample?.keeps !== true) return ask();
    const { prior, priorPrivate, priorIdentity } = request;
    return {
      diagnostics: [],
      planned: prior,
      requiresReplace: [],
      plannedPrivate: priorPrivate,
      ...(priorIdentity !== undefined && { plannedIdentity: priorIdentity }),
      legacyTypeSystem: sample.legacyTypeSystem,
    };
  }

  /** One without a version may be another program than the one that wrote the object, such as one that runs under a debugger. */
  #isPure({ source, version }: ProviderReference): boolean {
    return version !== "" && this.#pure.some((one) => source === one || source.endsWith(`/${one}`));
  }
}

function isUnchanged({ block, request, isAsRecorded }: UnchangedQuestion): boolean {
  const { prior, proposed, config } = request;
  return isAsRecorded && !prior.isNull && proposed.rawEquals(prior) && !hasWriteOnly(block, config);
}

/** Whether a configuration may have a write-only value, which no object shows: another one is a change nevertheless. */
function hasWriteOnly(block: BlockSchema, config: Value): boolean {
  for (const [name, value] of config.entries()) {
    const attribute = block.attributes.get(name);
    if (attribute === undefined) continue;
    if (attribute.writeOnly && !(value.isKnown && value.isNull)) return true;
    if (canBeWriteOnly(attribute.nested?.attributes)) return true;
  }
  return [...block.blocks.values()].some((nested) => declaresWriteOnly(nested.block));
}

function declaresWriteOnly({ attributes, blocks }: BlockSchema): boolean {
  return (
    canBeWriteOnly(attributes) ||
    [...blocks.values()].some((nested) => declaresWriteOnly(nested.block))
  );
}

function canBeWriteOnly(attributes: ReadonlyMap<string, AttributeSchema> = new Map()): boolean {
  return [...attributes.values()].some(
    ({ writeOnly, nested }) => writeOnly || canBeWriteOnly(nested?.attributes),
  );
}

function sampleOf(
  { prior, priorPrivate, priorIdentity }: PlanResourceRequest,
  answer: PlanReply,
): Sample {
  const { planned, plannedPrivate, plannedIdentity, legacyTypeSystem } = answer;
  const hasSameIdentity =
    priorIdentity === undefined || plannedIdentity === undefined
      ? priorIdentity === plannedIdentity
      : priorIdentity.rawEquals(plannedIdentity);
  const keeps =
    answer.diagnostics.length === 0 &&
    answer.requiresReplace.length === 0 &&
    answer.deferred === undefined &&
    (answer.sensitive ?? []).length === 0 &&
    planned?.rawEquals(prior) === true &&
    Buffer.compare(plannedPrivate, priorPrivate) === 0 &&
    hasSameIdentity;
  return { keeps, legacyTypeSystem };
}
