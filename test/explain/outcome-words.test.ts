import { describe, expect, test } from 'vitest';
import {
  isKnownBefore,
  isOfReason,
  isOutcomeByPlace,
  outcomeOf,
  wordsOfName,
} from '../../src/explain/outcome-words.ts';
import { EACH, type PathStep } from '../../src/items/field-path.ts';

/** `a[].b` as steps. */
const stepsOf = (path: string): PathStep[] =>
  path.split(/\.|(?=\[\])/).map((step) => (step === '[]' ? EACH : step));

describe('the words of a name', () => {
  test.each([
    ['status', 'status'],
    ['lastError', 'last error'],
    ['lastHTTPStatus', 'last http status'],
    ['HTTPStatus', 'http status'],
    ['last_http-status', 'last http status'],
    ['x1Error', 'x1 error'],
    ['ERROR', 'error'],
    ['IDs', 'i ds'],
    ['nächsterVersuch', 'nächster versuch'],
    ['a__b', 'a b'],
    ['http2xx', 'http2xx'],
  ])('of %s are "%s"', (name, words) => {
    expect(wordsOfName(name)).toBe(words);
  });
});

describe('a name', () => {
  test.each([
    ['lastError', 'sure'],
    ['last_http_status', 'sure'],
    ['error.text', 'sure'],
    ['notes.errorText', 'sure'],
    ['errors[].text', 'sure'],
    ['outcome', 'likely'],
    ['outcome.text', 'likely'],
    ['responses[]', 'likely'],
    ['customer', undefined],
    ['customer.name', undefined],
    ['failover', undefined],
  ])('%s is %s to be of an outcome', (path, certainty) => {
    expect(outcomeOf(stepsOf(path), false)).toBe(certainty);
  });

  test('is sure to be of an outcome by its place', () => {
    expect(outcomeOf(['customer'], true)).toBe('sure');
  });

  test.each([
    ['delivery.ms', true],
    ['lastDelivery.httpStatus', true],
    ['deliveries[].ms', true],
    ['a.delivery.b.state', true],
    ['attempts[].anything', true],
    ['retries[].a.b', true],
    ['attempts[].url', false],
    ['attempts[].to.host', false],
    // These are no members of a delivery.
    ['delivery', false],
    ['deliveryStatus', false],
    ['ms', false],
    ['state.delivery', false],
    ['order.status', false],
    ['delivered.ms', false],
    ['delivery.address', false],
    ['attempts', false],
    ['attempts.ms', false],
  ])('%s is of an outcome by its place: %s', (path, expected) => {
    expect(isOutcomeByPlace(stepsOf(path))).toBe(expected);
  });

  test.each([
    ['apiVersion', true],
    ['customer.country', true],
    ['regions[].region', true],
    ['region[]', true],
    ['region.name', false],
    ['regionError', false],
    ['[]', false],
  ])('%s is known before a delivery: %s', (path, expected) => {
    expect(isKnownBefore(stepsOf(path))).toBe(expected);
  });

  test.each([
    ['errors[].lastMessage', true],
    ['errors[].CODE', true],
    ['errors[]', true],
    ['errors[].at', false],
    ['errors.at', false],
    ['[]', false],
  ])('%s gives a reason: %s', (path, expected) => {
    expect(isOfReason(stepsOf(path))).toBe(expected);
  });
});
