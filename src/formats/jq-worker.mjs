// Runs jq programs in a thread that can be ended in the middle of one. JavaScript, since Node loads this file
// by itself: the oldest supported Node cannot read TypeScript.
import { parentPort } from 'node:worker_threads';
import { loadJq } from 'jq-wasm';

const loading = loadJq();
parentPort.on('message', async ({ input, program, flags }) => {
  const jq = await loading;
  parentPort.postMessage(jq.raw(input, program, flags));
});
