// A folder that neither VS Code nor agentls trusts, which names a program of its own.
import { command, idle, inView, page, shot, status, tell, toast } from './window.mjs'

await tell({
  async 'folder in restricted mode' () {
    await status('Restricted Mode')
    await idle()
    await command('Agents: Focus on Agents View')
    const fixer = inView('fixer').first()
    await fixer.locator('.codicon-lock').waitFor()
    await command('Agents: Ask an Agent in a Panel')
    await shot('agents-to-ask')
    const list = await page.locator('.quick-input-list .monaco-list-row').allInnerTexts()
    if (list.some((l) => /fixer/.test(l))) throw new Error('an agent of the folder can be asked: ' + list)
    await page.keyboard.press('Escape')
    return list.join(' | ').replaceAll('\n', ' ')
  },
  async 'demo without Go' () {
    await command('Agents: Run the Demo')
    const t = toast('the go command, which is not in your PATH')
    await t.locator('.monaco-button:has-text("New Agent")').waitFor()
    await shot('demo-without-go')
    if (await page.locator('.terminal-wrapper').count() > 0) throw new Error('a terminal opens')
    const said = await t.locator('.notification-list-item-message').innerText()
    await command('Notifications: Clear All Notifications')
    return said
  },
  async 'folder that is on no disk' () {
    await page.goto(process.env.URL.replace(/folder=.*/, 'folder=memory:/notes'))
    await page.waitForSelector('.monaco-workbench')
    await command('Extensions: Show Installed Extensions')
    const ours = page.locator('.extensions-list .monaco-list-row:has-text("written as Markdown files")').first()
    await ours.waitFor()
    await ours.click()
    await page.waitForSelector('.extension-editor :text("Agents work on files on disk")')
    return (await page.locator('.extension-editor .more, .extension-editor .status, .extension-editor .recommendation').allInnerTexts()).join(' | ').replaceAll('\n', ' ')
  }
})
