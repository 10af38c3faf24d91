import { sinks } from '../../../src/sinks/index.js';

describe.each(Object.entries(sinks))('the sink %s', (_name, sink) => {
  test.each(sink.examples.map((example) => [JSON.stringify(example), example]))('accepts its example %s', (_text, example) => {
    expect(sink.config().safeParse(example).error).toBeUndefined();
  });
});
