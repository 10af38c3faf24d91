export { diagnoseService } from './diagnose.js';
export type { Diagnosis, DiagnosisFinding } from './probe.js';
