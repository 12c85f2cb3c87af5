import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createVirtualClock } from "@stackwright/base/clock";
import { describe, expect, it } from "vitest";
import { ServerMetrics } from "./server-metrics.ts";
