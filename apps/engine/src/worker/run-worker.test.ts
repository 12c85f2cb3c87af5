import { describeWorker } from "../testing/worker-suite.ts";

describeWorker("in-process");
