// What goes wrong, and whether the screen says what to do: no server, one that is too
// old, one that ends; a question that outlives its run; answers that are huge or hostile;
// a binary file; a second window.
import fs from 'node:fs'
import { answer, asked, choose, command, frame, idle, inView, killed, look, open, outside, page, say, serverPid, settings, shot, status, tell, toast, toRow, trust, window } from './window.mjs'

const { DIR, OLD } = process.env
const before = page

/** program has the extension start a program, which is a script of a shell. */
function program (name, script) {
  const path = `${DIR}/${name}`
  fs.writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  settings({ 'agentls.path': path })
}

/** told waits for a message, the status bar and an answer of the chat that says the same. */
async function told (text, ...buttons) {
  const t = toast(text)
  await t.waitFor()
  for (const name of buttons) await t.locator(`.monaco-button:has-text("${name}")`).first().waitFor()
  const said = await t.locator('.notification-list-item-message').innerText()
  await page.waitForSelector('.statusbar-item:has-text("Agents") .codicon-error')
  await say('@agents @fixer hello')
  await answer(text).waitFor()
  return said
}

const clear = () => command('Notifications: Clear All Notifications')

await tell({
  async 'server missing' () {
    await idle()
    settings({ 'agentls.path': '/nowhere/agentls' })
    return told('which is not a program', 'Open Setting', 'Try Again')
  },
  async 'server too old' () {
    await clear()
    program('old', `AGENTLS_TEST_OLD_SERVER=1 exec ${OLD}`)
    return told('is too old for this extension', 'Open Setting', 'Try Again')
  },
  async 'server ends at start' () {
    await clear()
    program('dies', 'echo "agentls: the disk is full" >&2; exit 3')
    return told('does not start: agentls: the disk is full', 'Start Again', 'Show Log')
  },
  async 'server does not answer' () {
    await clear()
    program('mute', 'exec sleep 1000')
    const t = toast('has not answered for')
    await t.waitFor()
    const said = await t.locator('.notification-list-item-message').innerText()
    await shot('mute')
    settings({})
    await idle()
    return said
  },
  async 'server ends in a run' () {
    await clear()
    await trust()
    await say('@agents @fixer take forever')
    await answer('I begin').waitFor()
    await killed()
    await answer('The server ended during this run').waitFor()
    await idle()
    await shot('ended')
    await page.locator('.interactive-session .chat-followups, .interactive-session .interactive-session-followups').locator('text=Resume the run').first().click()
    await answer('Done at last').waitFor()
  },
  async 'question of a run that ends' () {
    await say('@agents buy oats')
    await asked('edit_file note.txt')
    await page.waitForSelector('.monaco-diff-editor .view-line:has-text("oat milk")')
    await shot('open-question')
    await command('Chat: Open Chat')
    await page.keyboard.press('Control+Escape')
    await page.waitForSelector('.monaco-diff-editor', { state: 'detached' })
    await idle()
  },
  async 'long answer' () {
    const at = Date.now()
    await say('@agents count')
    await page.locator('.interactive-response .monaco-button:has-text("Show All of It")').last().waitFor()
    await idle()
    await shot('long')
    const ended = Date.now() - at
    for (let tries = 0; tries < 20 && await page.locator('iframe.webview.ready').count() === 0; tries++) { // a click is lost while the answer is drawn
      await page.locator('.interactive-response .monaco-button:has-text("Show All of It")').last().click()
      await page.locator('iframe.webview.ready').waitFor({ timeout: 5000 }).catch(() => {})
    }
    await frame().locator('.entry.text:has-text("This was all of it")').waitFor()
    return `10,000 lines: the run has ended after ${ended} ms, all of it is in the panel after ${Date.now() - at} ms`
  },
  async 'binary file' () {
    await say('@agents @fixer paint the picture')
    await answer('It stays as it is').waitFor()
    await answer('It stays as it is').locator('text=/is not text/').first().waitFor()
    return (await answer('It stays as it is').innerText()).replaceAll('\n', ' ')
  },
  async 'binary file of a command' () {
    await say('@agents paint by a command')
    await asked('bash ')
    await command('Agents: Allow Once')
    await answer('It is painted').waitFor()
    await command('Agents: Focus on Changes View')
    await toRow('logo.png')
    await page.keyboard.press('Enter')
    const t = toast('cannot be shown as text')
    await t.waitFor()
    return t.locator('.notification-list-item-message').innerText()
  },
  async 'failed run' () {
    await say('@agents @fixer break')
    const a = answer('no such luck')
    await a.waitFor()
    await idle()
    await shot('failed-run')
    const text = (await a.innerText()).replaceAll('\n', ' ')
    if (text.split('no such luck').length !== 2) throw new Error('the error is not shown once: ' + text)
    return text
  },
  async 'hostile answer' () {
    await command('Agents: Ask an Agent in a Panel')
    await choose('fixer')
    await page.locator('iframe.webview.ready').nth(1).waitFor() // the one beside the long answer
    await frame().locator('#agent option').first().waitFor({ state: 'attached' })
    await frame().locator('#input').focus()
    await page.keyboard.type('tell me lies')
    await page.keyboard.press('Enter')
    const text = frame().locator('.entry.text:has-text("lies end")')
    await text.waitFor()
    if (await text.locator('img, script, iframe, b, a:not([href^="http"])').count() > 0) throw new Error(await text.innerHTML())
    if (outside.size > 0) throw new Error('the answer made a request: ' + [...outside])
    return (await text.innerText()).replaceAll('\n', ' ')
  },
  async 'question beside a panel' () {
    settings({ 'agentls.conversation': 'panel' })
    await open('note.txt')
    await command('Agents: Ask an Agent in a Panel')
    await choose('fixer')
    await page.locator('iframe.webview.ready').nth(2).waitFor()
    await frame().locator('#agent option').first().waitFor({ state: 'attached' })
    await frame().locator('#input').focus()
    await page.keyboard.type('buy tea')
    await page.keyboard.press('Enter')
    await page.waitForSelector('.monaco-diff-editor .view-line:has-text("tea")')
    await frame().locator('#answer').waitFor() // the question is not opened over the panel
    await shot('question-beside-a-panel')
    if (await toast('wants to run').count() > 0) throw new Error('a message covers the input of the panel')
    await frame().locator('#answer').focus()
    await page.keyboard.press('Enter')
    await choose('Reject')
    await frame().locator('.entry.text:has-text("no tea then")').waitFor()
    settings({})
  },
  async 'document that is no file' () {
    await command('File: New Untitled Text File')
    await page.keyboard.type('some words')
    await page.keyboard.press('Control+a')
    await command('Agents: Ask an Agent About the Selection')
    await toast('save Untitled-1 first').waitFor()
  },
  async 'two windows' () {
    await clear()
    await say('@agents @fixer take long')
    await answer('I am at it').waitFor()
    look(await window())
    await idle()
    await command('Agents: Focus on Sessions View')
    const locked = inView('take forever').first()
    await locked.waitFor()
    await locked.click()
    await frame().locator('.entry.text:has-text("I am at it")').waitFor() // it can be read here
    await frame().locator('#problem:has-text("you can read along")').waitFor()
    await frame().locator('#stop').focus()
    await page.keyboard.press('Enter')
    await frame().locator('#problem:has-text("in use by another window")').waitFor()
    await frame().locator('#input').focus()
    await page.keyboard.type('me too')
    await page.keyboard.press('Enter')
    const problem = frame().locator('#problem')
    await frame().locator('#problem:has-text("Go on there or close it; here, fork")').waitFor()
    await shot('second-window')
    const said = await problem.innerText()
    await command('Agents: Fork Session')
    await choose('take forever')
    await choose('take long')
    await frame().locator('#agent:enabled').waitFor()
    await frame().locator('#input').focus()
    await page.keyboard.type('go on here')
    await page.keyboard.press('Enter')
    await frame().locator('.entry.text:has-text("It goes on here")').waitFor()
    await shot('forked-there')
    await command('Chat: Open Chat')
    await say('@agents @fixer greet me')
    await answer('Good day from here').waitFor()
    await page.close()
    look(before)
    return said
  },
  async 'server that ends again and again' () {
    for (let i = 0; i < 10 && await toast('is not started again').count() === 0; i++) {
      const pid = serverPid()
      if (pid) process.kill(pid, 'SIGKILL')
      await page.waitForTimeout(1000)
    }
    const t = toast('is not started again')
    await t.waitFor()
    const said = await t.locator('.notification-list-item-message').innerText()
    await shot('given-up')
    await t.locator('.monaco-button:has-text("Start Again")').first().click()
    await idle()
    const panel = page.frameLocator('iframe.webview.ready').first().frameLocator('#active-frame')
    await panel.locator('#send:has-text("Send")').waitFor({ state: 'attached' }) // the run that was cut off does not go on
    if (await toast('Pending response').count() > 0) throw new Error('a view tells that its connection ended')
    return said
  }
})
