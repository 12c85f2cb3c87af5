import { decodeJson, type Value } from "@stackwright/cty";
import {
  hasProviderErrors,
  type LifecycleProvider,
  type SchemaReply,
} from "@stackwright/mux/router";
import { configObject } from "../testing/json-config.ts";
import { ProviderDriver, ProviderRefusal } from "../testing/provider-driver.ts";
import { boundProvider } from "./bounded-provider.ts";
import { CheckCollector, type CheckResult, type ConformanceReport } from "./check-report.ts";
import { describeFailure, isLost, reportViolations } from "./describe-failure.ts";
import { laterConfig, RESOLVE_LATER, smallestConfig } from "./later-config.ts";
import { checkObjectLife } from "./object-life.ts";
import type { ProviderSamples } from "./samples.ts";
import { checkSameSchema, checkSchema, isToken } from "./schema-checks.ts";

export interface CheckProviderOptions {
  /** Starts a process of the provider, or a connection of its own; closed here. */
  readonly open: (options: { readonly signal: AbortSignal }) => Promise<LifecycleProvider>;
  /** @default none: only what can be checked without creating anything */
  readonly samples?: ProviderSamples;
  /** How long one call may take, in milliseconds. @default 30_000 */
  readonly callTimeoutMs?: number;
  /** What the provider has logged so far, to be searched for secrets. @default its log is not known */
  readonly logs?: () => readonly string[];
  /** Is given every outcome when it is known. */
  readonly onCheck?: (check: CheckResult) => void;
  readonly signal?: AbortSignal;
}

/** Types without a sample of which a plan is tried; a provider may declare any number of them. */
const MAX_UNSAMPLED = 200;

/**
 * Checks that a provider keeps to what engines rely on: its schema, unknown values, the life of the objects of its samples, data
 * sources, functions, cancellation and the end. Objects of samples are created for real, and deleted again. What is wrong with the
 * provider is in the report; this rejects only where the signal is aborted.
 */
export async function checkProvider(options: CheckProviderOptions): Promise<ConformanceReport> {
  return new ProviderCheck(options).run();
}

type OpenedDriver = ProviderDriver & { [Symbol.asyncDispose](): Promise<void> };

class ProviderCheck {
  readonly #options: CheckProviderOptions;
  readonly #samples: ProviderSamples;
  readonly #collector: CheckCollector;
  readonly #signal: AbortSignal;
  readonly #timeoutMs: number;
  #isLost = false;

  constructor(options: CheckProviderOptions) {
    const { samples = {}, callTimeoutMs = 30_000, onCheck = () => undefined, signal } = options;
    this.#options = options;
    this.#samples = samples;
    this.#collector = new CheckCollector(onCheck);
    this.#signal = signal ?? new AbortController().signal;
    this.#timeoutMs = callTimeoutMs;
  }

  async run(): Promise<ConformanceReport> {
    const declared = await this.#checkDeclared();
    this.#signal.throwIfAborted();
    if (declared === undefined) return this.#collector.report;
    const { settings = {}, resources = {}, dataSources = {}, functions = {} } = this.#samples;
    let driver: OpenedDriver | undefined;
    const opened = async (): Promise<OpenedDriver> => {
      if (driver !== undefined && !this.#isLost) return driver;
      await driver?.[Symbol.asyncDispose]().catch(() => undefined);
      driver = undefined;
      this.#isLost = false;
      driver = await this.#configured();
      return driver;
    };
    try {
      const isConfigured = await this.#check("provider", "accepts its settings", async () => {
        await opened();
      });
      if (!isConfigured) {
        for (const type of [...Object.keys(resources), ...Object.keys(dataSources)]) {
          this.#collector.skip(type, "all checks", "the provider has no valid settings");
        }
        return this.#collector.report;
      }
      if (Object.keys(settings).length > 0) await this.#checkLaterSettings(declared);
      for (const [type, sample] of Object.entries(resources)) {
        const current = await this.#reopened(`resource ${type}`, opened);
        if (current === undefined) continue;
        await checkObjectLife({
          type,
          sample,
          collector: this.#collector,
          driver: current,
          openAnother: async () => this.#configured(),
          logs: this.#options.logs,
        });
        this.#signal.throwIfAborted();
      }
      await this.#checkUnsampled(declared, opened);
      for (const [type, config] of Object.entries(dataSources)) {
        const current = await this.#reopened(`data source ${type}`, opened);
        if (current !== undefined) await this.#checkDataSource(current, type, config);
      }
      for (const [name, { arguments: given }] of Object.entries(functions)) {
        const current = await this.#reopened(`function ${name}`, opened);
        if (current !== undefined) await this.#checkFunction(current, name, given);
      }
      const last = await this.#reopened("provider", opened);
      if (last !== undefined) await this.#checkEnd(last);
      return this.#collector.report;
    } finally {
      await driver?.[Symbol.asyncDispose]().catch(() => undefined);
    }
  }

  /** The schema, by two processes. */
  async #checkDeclared(): Promise<SchemaReply | undefined> {
    let declared: SchemaReply | undefined;
    const passed = await this.#check("provider", "starts and declares a schema", async () => {
      await using first = await this.#open();
      declared = await first.schema({});
      if (hasProviderErrors(declared.diagnostics)) {
        throw new ProviderRefusal("schema", declared.diagnostics);
      }
    });
    if (!passed || declared === undefined) return undefined;
    const { schema } = declared;
    await this.#check("provider", "has a schema that the language can use", (findings) => {
      checkSchema(schema, findings);
    });
    await this.#check("provider", "declares the same schema each time", async (findings) => {
      await using second = await this.#open();
      checkSameSchema(schema, (await second.schema({})).schema, findings);
    });
    return declared;
  }

  async #checkLaterSettings({ schema }: SchemaReply): Promise<void> {
    const { settings = {} } = this.#samples;
    await this.#check("provider", "accepts settings that are not known yet", async () => {
      const { provider: block } = schema;
      const config = configObject(block, laterConfig(block, settings), RESOLVE_LATER);
      // Engines ask for this before they configure a process, and some providers keep what they were asked about.
      await using provider = await this.#open();
      const reply = await provider.validateProvider({ config }, {});
      if (hasProviderErrors(reply.diagnostics)) {
        throw new ProviderRefusal("validateProvider", reply.diagnostics);
      }
    });
  }

  /** Resource types without a sample: a plan of a new object in which nothing is known. */
  async #checkUnsampled(declared: SchemaReply, opened: () => Promise<OpenedDriver>): Promise<void> {
    const { resources = {} } = this.#samples;
    const others = [...declared.schema.resources].filter(
      ([type]) => !Object.hasOwn(resources, type) && !isToken(type, declared.schema),
    );
    for (const [type, { block }] of others.slice(0, MAX_UNSAMPLED)) {
      const subject = `resource ${type}`;
      const name = "plans with values that are not known yet";
      const config = smallestConfig(block);
      if (config === undefined) {
        this.#collector.skip(subject, name, "it needs blocks; give it a sample");
        continue;
      }
      const driver = await this.#reopened(subject, opened);
      if (driver === undefined) continue;
      const before = driver.violations.length;
      await this.#check(subject, name, async (findings) => {
        try {
          await driver.plan(type, config, undefined, RESOLVE_LATER);
        } catch (error) {
          if (!(error instanceof ProviderRefusal)) throw error;
          // It may need one of several optional arguments, which a schema cannot say.
          findings.warn(`give it a sample, as ${describeFailure(error)}`);
        }
        reportViolations(driver.violations.slice(before), "the plan", findings);
      });
      this.#signal.throwIfAborted();
    }
    const unchecked = others.length - MAX_UNSAMPLED;
    if (unchecked > 0) {
      this.#collector.skip(`${unchecked} more resources`, "all checks", "they have no samples");
    }
  }

  async #checkDataSource(
    driver: ProviderDriver,
    type: string,
    config: NonNullable<ProviderSamples["dataSources"]>[string],
  ): Promise<void> {
    const subject = `data source ${type}`;
    await this.#check(subject, "reads the same twice", async (findings) => {
      const before = driver.violations.length;
      const first = await driver.readData(type, config);
      const second = await driver.readData(type, config);
      if (!first.isWhollyKnown) findings.error("what was read is not wholly known");
      if (!first.rawEquals(second)) findings.error("a second read differs from the first");
      reportViolations(driver.violations.slice(before), "the answer", findings);
    });
    await this.#check(subject, "accepts values that are not known yet", async () => {
      const block = driver.declared.schema.dataSources.get(type)?.block;
      if (block === undefined) return;
      const later = configObject(block, laterConfig(block, config), RESOLVE_LATER);
      const request = { type, config: later, writeOnlyAllowed: true };
      const reply = await driver.provider.validateDataSource(request, {});
      if (hasProviderErrors(reply.diagnostics)) {
        throw new ProviderRefusal("validateDataSource", reply.diagnostics);
      }
    });
  }

  async #checkFunction(
    driver: ProviderDriver,
    name: string,
    given: NonNullable<ProviderSamples["functions"]>[string]["arguments"],
  ): Promise<void> {
    await this.#check(`function ${name}`, "gives equal results for equal arguments", async () => {
      const schema = driver.declared.schema.functions.get(name);
      if (schema === undefined) throw new Error("the schema has no such function");
      const values = given.map((argument, index) => {
        const parameter = schema.parameters[index] ?? schema.variadic;
        if (parameter === undefined) throw new Error("the sample has too many arguments");
        return decodeJson(JSON.stringify(argument), parameter.type);
      });
      const results: Value[] = [];
      for (let round = 0; round < 2; round += 1) {
        const reply = await driver.provider.callFunction({ name, arguments: values }, {});
        if ("error" in reply) throw new Error(reply.error.text);
        results.push(reply.result);
      }
      const [first, second] = results;
      if (first === undefined || second === undefined || !first.rawEquals(second)) {
        throw new Error("two calls with equal arguments have different results");
      }
    });
  }

  async #checkEnd(driver: OpenedDriver): Promise<void> {
    await this.#check("provider", "answers when it is asked to stop, and ends", async () => {
      await driver.provider.stop({});
      const closed = driver.provider.close();
      const deadline = AbortSignal.timeout(this.#timeoutMs);
      await Promise.race([
        closed,
        new Promise((_, failed) => {
          deadline.addEventListener("abort", () => failed(new Error("it does not end")), {
            once: true,
          });
        }),
      ]);
    });
  }

  /** The driver, started again where its process was lost; undefined where it does not start, which is a finding. */
  async #reopened(
    subject: string,
    opened: () => Promise<OpenedDriver>,
  ): Promise<OpenedDriver | undefined> {
    let driver: OpenedDriver | undefined;
    if (!this.#isLost) return opened();
    await this.#check(subject, "starts again", async () => {
      driver = await opened();
    });
    return driver;
  }

  async #open(): Promise<LifecycleProvider> {
    const { open } = this.#options;
    const signal = this.#signal;
    return boundProvider(await open({ signal }), {
      timeoutMs: this.#timeoutMs,
      signal,
      onLost: (error) => {
        if (isLost(error)) this.#isLost = true;
      },
    });
  }

  async #configured(): Promise<OpenedDriver> {
    const provider = await this.#open();
    try {
      const driver = await ProviderDriver.configure(provider, this.#samples.settings);
      return Object.assign(driver, {
        [Symbol.asyncDispose]: async (): Promise<void> => provider.close(),
      });
    } catch (error) {
      await provider.close().catch(() => undefined);
      throw error;
    }
  }

  async #check(
    subject: string,
    name: string,
    check: Parameters<CheckCollector["run"]>[2],
  ): Promise<boolean> {
    const passed = await this.#collector.run(subject, name, check, describeFailure);
    this.#signal.throwIfAborted();
    return passed;
  }
}
