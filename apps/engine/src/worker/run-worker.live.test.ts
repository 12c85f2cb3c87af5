import { describeWorker } from "../testing/worker-suite.ts";

describeWorker("child");
