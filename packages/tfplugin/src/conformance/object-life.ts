import { encodeJson, Value } from "@stackwright/cty";
import { hasProviderErrors, type ResourceSchema, typeOfBlock } from "@stackwright/mux/router";
import { configObject } from "../testing/json-config.ts";
import {
  type ProviderDriver,
  ProviderRefusal,
  type TestObject,
} from "../testing/provider-driver.ts";
import type { CheckCollector, Findings } from "./check-report.ts";
import { differingNames } from "./compare-objects.ts";
import { describeFailure, isLost, reportViolations } from "./describe-failure.ts";
import { laterConfig, RESOLVE_LATER } from "./later-config.ts";
import type { ResourceSample } from "./samples.ts";
import { leakedPaths, secretTexts } from "./secret-texts.ts";

/** What the life of an object is tested with. */
interface ObjectLifeOptions {
  readonly type: string;
  readonly sample: ResourceSample;
  readonly collector: CheckCollector;
  readonly driver: ProviderDriver;
  /** Another process of the provider, configured in the same way. */
  readonly openAnother: () => Promise<ProviderDriver & AsyncDisposable>;
  /** What the provider has logged so far; undefined where its log cannot be read. */
  readonly logs: (() => readonly string[]) | undefined;
}

type Check = (findings: Findings) => Promise<void>;

/** Takes one object of a sample through its life, check by check. The object does not outlive this. */
export async function checkObjectLife(options: ObjectLifeOptions): Promise<void> {
  const schema = options.driver.declared.schema.resources.get(options.type);
  if (schema === undefined) {
    const name = "is declared by the schema";
    const subject = `resource ${options.type}`;
    await options.collector.run(
      subject,
      name,
      (findings) => findings.error("there is a sample, and the schema has no such resource"),
      describeFailure,
    );
    return;
  }
  await new ObjectLife(options, schema).run();
}

class ObjectLife {
  readonly #options: ObjectLifeOptions;
  readonly #schema: ResourceSchema;
  readonly #secrets: ReadonlySet<string>;
  #object: TestObject | undefined;
  /** Why the checks that follow make no sense. */
  #ended: string | undefined;

  constructor(options: ObjectLifeOptions, schema: ResourceSchema) {
    this.#options = options;
    this.#schema = schema;
    this.#secrets = this.#secretsOfSample();
  }

  async run(): Promise<void> {
    const { sample } = this.#options;
    const { config, update, replace, import: imported } = sample;
    await this.#check("accepts its configuration", async () => this.#validates());
    await this.#check("plans with values that are not known yet", async (findings) =>
      this.#plansLater(findings),
    );
    await this.#check("plans the same create twice", async (findings) =>
      this.#plansTwice(findings),
    );
    await this.#check("creates what it planned", async (findings) => this.#creates(findings), {
      needed: true,
    });
    await this.#check("reads back what it created", async (findings) => this.#readsBack(findings));
    await this.#check("plans no change for an unchanged configuration", async (findings) =>
      this.#isSettled(config, findings),
    );
    await this.#check("keeps what is stored through an upgrade", async (findings) =>
      this.#upgrades(findings),
    );
    await this.#check("reads the same in another process", async (findings) =>
      this.#readsElsewhere(findings),
    );
    if (imported !== undefined) {
      await this.#check(`imports it by "${imported}"`, async (findings) =>
        this.#imports(imported, findings),
      );
    }
    if (replace !== undefined) {
      await this.#check("asks for a new object where it needs one", async (findings) => {
        const plan = await this.#options.driver.plan(this.#type, replace, this.#object);
        if (plan.action !== "replace") {
          findings.error(`the plan for the sample "replace" is ${plan.action}, not replace`);
        }
      });
    }
    if (update !== undefined) {
      await this.#check("updates in place", async (findings) => this.#updates(update, findings));
    }
    await this.#check("answers after a call was cancelled", async () => this.#cancels());
    await this.#check("shows no secret", async (findings) => this.#hidesSecrets(findings));
    await this.#check("deletes it, and finds that it is gone", async (findings) =>
      this.#deletes(findings),
    );
    await this.#cleanUp();
  }

  get #type(): string {
    return this.#options.type;
  }

  async #check(
    name: string,
    check: Check,
    { needed = false }: { readonly needed?: boolean } = {},
  ): Promise<void> {
    const { collector, driver, type } = this.#options;
    const subject = `resource ${type}`;
    if (this.#ended !== undefined) {
      collector.skip(subject, name, this.#ended);
      return;
    }
    const before = driver.violations.length;
    const passed = await collector.run(
      subject,
      name,
      async (findings) => {
        try {
          await check(findings);
        } catch (error) {
          if (isLost(error)) this.#ended = `the provider was lost in "${name}"`;
          throw error;
        } finally {
          reportViolations(driver.violations.slice(before), "an answer", findings);
        }
      },
      describeFailure,
    );
    if (!passed && needed && this.#object === undefined) {
      this.#ended ??= `there is no object, as the provider failed in "${name}"`;
    }
  }

  async #validates(): Promise<void> {
    const { driver, sample } = this.#options;
    const config = configObject(this.#schema.block, sample.config, noReference);
    const request = { type: this.#type, config, writeOnlyAllowed: true };
    const reply = await driver.provider.validateResource(request, {});
    if (hasProviderErrors(reply.diagnostics)) {
      throw new ProviderRefusal("validateResource", reply.diagnostics);
    }
  }

  async #plansLater(findings: Findings): Promise<void> {
    const { driver, sample } = this.#options;
    const { block } = this.#schema;
    const later = laterConfig(block, sample.config);
    const plan = await driver.plan(this.#type, later, undefined, RESOLVE_LATER);
    for (const [name, value] of plan.planned.entries()) {
      const attribute = block.attributes.get(name);
      if (attribute === undefined || attribute.writeOnly) continue;
      if (later[name] !== undefined && sample.config[name] !== null && value.isKnown) {
        findings.error(`${name}: the configuration does not know it yet, and the plan does`);
      }
    }
  }

  async #plansTwice(findings: Findings): Promise<void> {
    const { driver, sample } = this.#options;
    const first = await driver.plan(this.#type, sample.config);
    const second = await driver.plan(this.#type, sample.config);
    for (const name of differingNames(first.planned, second.planned)) {
      findings.error(`${name}: a second plan of the same differs from the first`);
    }
  }

  async #creates(findings: Findings): Promise<void> {
    const { driver, sample } = this.#options;
    const plan = await driver.plan(this.#type, sample.config);
    if (plan.action !== "create") findings.error(`the plan of a new object is ${plan.action}`);
    this.#object = await driver.apply(plan, sample.config);
    if (this.#object === undefined) findings.error("the create gave no object");
    else if (this.#object.tainted) findings.error("the create failed after it made the object");
  }

  async #readsBack(findings: Findings): Promise<void> {
    const object = this.#existing();
    const first = await this.#options.driver.refresh(object);
    if (first === undefined) throw new Error("it is gone, right after its create");
    for (const name of differingNames(object.state, first.state)) {
      findings.error(`${name}: what is read differs from what create returned`);
    }
    const second = await this.#options.driver.refresh(first);
    if (second === undefined) throw new Error("it is gone with the second read");
    for (const name of differingNames(first.state, second.state)) {
      findings.error(`${name}: a second read differs from the first`);
    }
    this.#object = second;
  }

  async #isSettled(config: ResourceSample["config"], findings: Findings): Promise<void> {
    const object = this.#existing();
    const plan = await this.#options.driver.plan(this.#type, config, object);
    if (plan.action === "no-op") return;
    const names = differingNames(object.state, plan.planned).join(", ");
    findings.error(`the plan is ${plan.action}: ${names}`);
  }

  async #upgrades(findings: Findings): Promise<void> {
    const { state } = this.#existing();
    const { block, version } = this.#schema;
    const reply = await this.#options.driver.provider.upgrade(
      {
        type: this.#type,
        schemaVersion: version,
        json: encodeJson(state, typeOfBlock(block)),
      },
      {},
    );
    if (hasProviderErrors(reply.diagnostics)) {
      throw new ProviderRefusal("upgrade", reply.diagnostics);
    }
    const upgraded = reply.state ?? Value.null(typeOfBlock(block));
    for (const name of differingNames(state, upgraded)) {
      findings.error(`${name}: what is stored under the present version comes back changed`);
    }
  }

  async #readsElsewhere(findings: Findings): Promise<void> {
    const object = this.#existing();
    await using other = await this.#options.openAnother();
    const read = await other.refresh(object);
    if (read === undefined) throw new Error("another process of the provider does not find it");
    for (const name of differingNames(object.state, read.state)) {
      findings.error(`${name}: another process of the provider reads something else`);
    }
  }

  async #imports(attribute: string, findings: Findings): Promise<void> {
    const { driver, sample } = this.#options;
    const object = this.#existing();
    const value = new Map(object.state.entries()).get(attribute);
    if (value === undefined || value.isNull) {
      findings.error(`"${attribute}" of the sample is no attribute with a value`);
      return;
    }
    const id = value.type.kind === "number" ? value.asNumber().toString() : value.asString();
    const found = await driver.import(this.#type, id);
    if (found === undefined) throw new Error("nothing is imported under the id of an object");
    for (const name of differingNames(object.state, found.state, sample.importIgnores)) {
      findings.error(
        `${name}: what is imported differs; list it in "importIgnores" where no import can know it`,
      );
    }
  }

  async #updates(update: ResourceSample["config"], findings: Findings): Promise<void> {
    const { driver } = this.#options;
    const plan = await driver.plan(this.#type, update, this.#object);
    if (plan.action !== "update") {
      findings.error(`the plan for the sample "update" is ${plan.action}, not update`);
      return;
    }
    this.#object = await driver.apply(plan, update);
    const object = this.#existing();
    const read = await driver.refresh(object);
    if (read === undefined) throw new Error("it is gone, right after its update");
    for (const name of differingNames(object.state, read.state)) {
      findings.error(`${name}: what is read differs from what update returned`);
    }
    this.#object = read;
    await this.#isSettled(update, findings);
  }

  /** A caller that gives up must not take the provider with it. */
  async #cancels(): Promise<void> {
    const { driver } = this.#options;
    const object = this.#existing();
    const controller = new AbortController();
    const reading = driver.provider
      .read({ ...readOf(object), deferralAllowed: false }, { signal: controller.signal })
      .catch(() => undefined);
    controller.abort(new Error("the caller gave up"));
    await reading;
    if ((await driver.refresh(object)) === undefined) {
      throw new Error("the object is gone after a read that was cancelled");
    }
  }

  async #hidesSecrets(findings: Findings): Promise<void> {
    const { logs } = this.#options;
    const { state } = this.#existing();
    const shown = leakedPaths(this.#schema.block, state, this.#secrets);
    for (const path of shown) {
      findings.error(`${path}: it has a secret of the configuration, and is not sensitive`);
    }
    const lines = logs?.() ?? [];
    const said = lines.filter((line) => [...this.#secrets].some((text) => line.includes(text)));
    if (said.length > 0) findings.error(`${said.length} lines of the log have a secret`);
    return Promise.resolve();
  }

  async #deletes(findings: Findings): Promise<void> {
    const { driver, sample } = this.#options;
    const object = this.#existing();
    const plan = await driver.plan(this.#type, undefined, object);
    const after = await driver.apply(plan, undefined);
    if (after !== undefined) throw new Error("the delete left the object");
    this.#object = undefined;
    if (sample.observable !== false) {
      const read = await driver.refresh(object);
      if (read !== undefined) {
        findings.error(
          'a read still finds it; set "observable": false where objects exist in the state alone',
        );
      }
    }
    // A delete whose answer was lost is asked for again.
    const again = await driver.plan(this.#type, undefined, object);
    await driver.apply(again, undefined).catch((error: unknown) => {
      if (isLost(error)) throw error;
      findings.error(`a delete of what is gone fails: ${describeFailure(error)}`);
    });
  }

  /** What a failed check left is deleted, where the provider still does it. */
  async #cleanUp(): Promise<void> {
    const { driver, collector, type } = this.#options;
    const object = this.#object;
    if (object === undefined) return;
    try {
      await driver.apply(await driver.plan(type, undefined, object), undefined);
    } catch (error) {
      await collector.run(
        `resource ${type}`,
        "leaves nothing behind",
        (findings) => {
          findings.error(
            `the object of the sample was not deleted, delete it by hand: ${describeFailure(error)}`,
          );
        },
        describeFailure,
      );
    }
  }

  #existing(): TestObject {
    if (this.#object === undefined) throw new Error("there is no object");
    return this.#object;
  }

  #secretsOfSample(): ReadonlySet<string> {
    const { config, update } = this.#options.sample;
    try {
      return new Set(
        [config, update ?? {}].flatMap((json) => [
          ...secretTexts(this.#schema.block, configObject(this.#schema.block, json, noReference)),
        ]),
      );
    } catch {
      // What is wrong with the sample is found where it is validated.
      return new Set();
    }
  }
}

function readOf({ type, state, privateBytes, identity }: TestObject) {
  return { type, state, privateBytes, ...(identity && { identity }) };
}

function noReference(reference: string): never {
  throw new Error(`a sample refers to nothing, and this one to ${reference}`);
}
